import { createServer } from 'node:net';

/**
 * Runs the service behind every measured system. The service responds with 8 KB to a request with a Bearer token, and with 401 to any other
 * request. `/seen` returns the request head. To save CPU time, the service parses no more HTTP than necessary. It responds after
 * LATENCY_MS, by default at once.
 */

const LATENCY_MS = Number(process.env['LATENCY_MS'] ?? 0);

const HEAD_END = '\r\n\r\n';
const BODY = JSON.stringify({
  value: Array.from({ length: 44 }, (_, at) => ({
    id: `workspace-${String(at).padStart(4, '0')}`,
    name: `Workspace number ${at}`,
    description: 'A place to draw, write and talk together, kept for as long as it is needed.',
    updatedOn: 1_700_000_000_000 + at,
    members: at * 7,
  })),
  next: 'b3BhcXVlLW5leHQtdG9rZW4',
}).padEnd(8_192, ' ');

const RESPONSE = toResponse('200 OK', 'application/json; charset=utf-8', BODY);
const UNAUTHORIZED = toResponse(
  '401 Unauthorized',
  'application/json; charset=utf-8',
  '{"error":"no token"}',
);

const server = createServer({ noDelay: true }, (socket) => {
  let buffered = '';
  socket.setEncoding('latin1');
  socket.on('data', (/** @type {string} */ text) => {
    buffered += text;
    for (let end = buffered.indexOf(HEAD_END); end >= 0; end = buffered.indexOf(HEAD_END)) {
      const head = buffered.slice(0, end + HEAD_END.length);
      buffered = buffered.slice(head.length);
      const response = responseTo(head);
      if (LATENCY_MS === 0) socket.write(response);
      else setTimeout(() => socket.write(response), LATENCY_MS);
    }
  });
  socket.on('error', () => socket.destroy());
});
server.listen(0, '127.0.0.1', () => {
  process.send?.({ port: /** @type {import('node:net').AddressInfo} */ (server.address()).port, body: BODY });
});

/** @param {string} head */
function responseTo(head) {
  if (head.startsWith('GET /api/public/v1/seen ')) return toResponse('200 OK', 'text/plain', head);
  return /\r\nauthorization: Bearer ./i.test(head) ? RESPONSE : UNAUTHORIZED;
}

/**
 * @param {string} status
 * @param {string} type
 * @param {string} body
 */
function toResponse(status, type, body) {
  const head = [
    `HTTP/1.1 ${status}`,
    `Content-Type: ${type}`,
    `Content-Length: ${body.length}`,
    `Date: ${new Date().toUTCString()}`,
    'Cache-Control: private, no-cache',
    'ETag: W/"2000-b3BhcXVl"',
    'Vary: Accept-Encoding',
    'X-Service-Version: 2026.11',
    'Connection: keep-alive',
  ].join('\r\n');
  return Buffer.from(head + HEAD_END + body, 'latin1');
}
