import { connect, createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import { pipeline } from 'node:stream';

// For the demo in containers: what comes to a port of the loopback interface goes on to another host.
//   relay.js 4000 local-service:4000

const LOOK_EVERY_MS = 250;
/** What is told to start while the app is away can't, and Docker doesn't try twice: whoever restarts the app has it back by then. */
const APP_STARTS_WITHIN_MS = 5_000;

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
  const looking = setInterval(() => {
    if (hasNetwork()) return;
    clearInterval(looking);
    console.error('The network is gone.');
    setTimeout(() => process.exit(1), APP_STARTS_WITHIN_MS);
  }, LOOK_EVERY_MS);
}

function hasNetwork(): boolean {
  return Object.values(networkInterfaces()).some((addresses) => addresses?.some(({ internal }) => !internal));
}
