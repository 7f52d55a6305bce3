// For the container's HEALTHCHECK: exits with 0 if `GET /healthz` returns 200, at the origin given as an argument or at
// Cloakroom's own address. The program imports no other Cloakroom modules, because it starts every few seconds.

// Unlike an import, this doesn't load Node 24's own HTTP client, which takes as much CPU time as the rest of the program.
const { get } = process.getBuiltinModule('node:http');

/** Shorter than the HEALTHCHECK timeout, after which Docker kills this process without a message. */
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

/** Returns the server's origin from HOST and PORT, with the loopback address if the server listens on all addresses. */
function ownOrigin(): string {
  const host = process.env['HOST'] || '127.0.0.1';
  const address = { '0.0.0.0': '127.0.0.1', '::': '::1' }[host] ?? host;
  return `http://${address.includes(':') ? `[${address}]` : address}:${process.env['PORT'] || '3000'}`;
}
