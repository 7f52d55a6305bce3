import { connect, createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import { pipeline } from 'node:stream';

// Forwards a loopback port to another host, for the demo in containers. Usage: relay.js 4000 local-service:4000

const CHECK_EVERY_MS = 250;
/** Delay before the relay exits, in ms. Docker restarts the relay only once, and the restart fails if the app has no network. */
const APP_STARTS_WITHIN_MS = 5_000;

const [port = '', target = ''] = process.argv.slice(2);
const { hostname, port: targetPort } = new URL(`tcp://${target}`);

createServer((client) => {
  // If one side closes or fails, pipeline() ends the other.
  pipeline(client, connect(Number(targetPort), hostname), client, () => {});
}).listen(Number(port), '127.0.0.1', () => console.log(`Port ${port} forwards to ${target}`));

// The relay shares the network of the app container. When the app container restarts, it gets a new network, and the relay
// is left with only the loopback interface. The relay then exits, so that Docker restarts it on the new network.
if (hasNetwork()) {
  const timer = setInterval(() => {
    if (hasNetwork()) return;
    clearInterval(timer);
    console.error('The container has lost its network.');
    setTimeout(() => process.exit(1), APP_STARTS_WITHIN_MS);
  }, CHECK_EVERY_MS);
}

function hasNetwork(): boolean {
  return Object.values(networkInterfaces()).some((addresses) => addresses?.some(({ internal }) => !internal));
}
