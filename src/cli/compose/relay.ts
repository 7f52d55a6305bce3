import { connect, createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import { pipeline } from 'node:stream';

// For the demo in containers: what comes to a port of the loopback interface goes on to another host.
//   relay.js 4000 local-service:4000

const LOOK_EVERY_MS = 250;

const [port = '', to = ''] = process.argv.slice(2);
const target = new URL(`tcp://${to}`);

createServer((near) => {
  const far = connect(Number(target.port), target.hostname);
  // Whichever side breaks off takes the other along: it hears of it as it would without us.
  pipeline(near, far, near, () => {});
}).listen(Number(port), '127.0.0.1', () => console.log(`${port} leads to ${to}`));

// Its network is that of the app's container. When that one starts again it has another, and ours is left with nothing but itself: then
// we end, so that whoever started us does so again, in the new one.
if (hasNetwork()) {
  setInterval(() => {
    if (hasNetwork()) return;
    console.error('The network is gone.');
    process.exit(1);
  }, LOOK_EVERY_MS);
}

function hasNetwork(): boolean {
  return Object.values(networkInterfaces()).some((addresses) => addresses?.some(({ internal }) => !internal));
}
