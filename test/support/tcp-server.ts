import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';

/** A server of bytes on a free port of the loopback interface; disposing cuts off who is connected. */
export interface TcpServer extends AsyncDisposable {
  readonly port: number;
  /** Connections that are open. */
  readonly sockets: ReadonlySet<Socket>;
}

/** Starts it. A connection that breaks is closed without a word. */
export async function startTcpServer(onConnection: (socket: Socket) => void): Promise<TcpServer> {
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
    sockets,
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
