import { get } from 'node:http';

// For the container's HEALTHCHECK: exits with 0 if `GET /healthz` is 200, at the origin in the argument or where Cloakroom
// listens. It imports no module of Cloakroom, because it starts every few seconds.

/** Shorter than the timeout of the HEALTHCHECK, after which Docker kills this process without a message. */
const TIMEOUT_MS = 4_000;

const [origin = ownOrigin()] = process.argv.slice(2);
const url = `${origin}/healthz`;

get(url, { agent: false, signal: AbortSignal.timeout(TIMEOUT_MS) }, (response) => {
  response.resume();
  if (response.statusCode === 200) return;
  console.error(`${url} responds with ${response.statusCode}`);
  process.exitCode = 1;
}).on('error', (error) => {
  console.error(`${url} does not respond: ${error.message}`);
  process.exitCode = 1;
});

/** Returns the server's origin by HOST and PORT. For a server on every address, this is the loopback address. */
function ownOrigin(): string {
  const host = process.env['HOST'] || '127.0.0.1';
  const address = { '0.0.0.0': '127.0.0.1', '::': '::1' }[host] ?? host;
  return `http://${address.includes(':') ? `[${address}]` : address}:${process.env['PORT'] || '3000'}`;
}
