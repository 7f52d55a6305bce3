import { get } from 'node:http';

// For the container's HEALTHCHECK: exit code 0 if `GET /healthz` is 200 where Cloakroom listens, or at the origin that is given.
// It is started every few seconds, so that it loads nothing else.

/** Less than the HEALTHCHECK's own, which would kill it without a word. */
const WITHIN_MS = 4_000;

const [origin = ownOrigin()] = process.argv.slice(2);

get(`${origin}/healthz`, { agent: false, signal: AbortSignal.timeout(WITHIN_MS) }, (answer) => {
  answer.resume();
  if (answer.statusCode === 200) return;
  console.error(`${origin}/healthz answers ${answer.statusCode}`);
  process.exitCode = 1;
}).on('error', (error) => {
  console.error(`${origin}/healthz does not answer: ${error.message}`);
  process.exitCode = 1;
});

/** From HOST and PORT as the server reads them; one that listens everywhere is asked on this very machine. */
function ownOrigin(): string {
  const host = process.env['HOST'] || '127.0.0.1';
  const address = { '0.0.0.0': '127.0.0.1', '::': '::1' }[host] ?? host;
  return `http://${address.includes(':') ? `[${address}]` : address}:${process.env['PORT'] || '3000'}`;
}
