import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';

/** Starts a TCP server on a free port on the loopback interface. Disposal closes all connections. */
export async function startTcpServer(onConnection: (socket: Socket) => void) {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy()).once('close', () => sockets.delete(socket));
    onConnection(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    /** The open connections. */
    sockets: sockets as ReadonlySet<Socket>,
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
