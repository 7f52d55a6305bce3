import { once } from 'node:events';
import { createServer } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { newGrant, OPAQUE } from './tokens.mjs';

const TOKEN_PATH = '/api/public/v1/authorization/oauth2/token';
const BODY = JSON.stringify({
  value: Array.from({ length: 10 }, (_, id) => ({ id, name: `Workspace ${id}` })),
});

/**
 * Starts a service that uses little CPU time, so that the benchmark measures Cloakroom. The service accepts only its own unexpired tokens.
 * The `X-Expires-At` header in each response contains the expiry time of the token in the request.
 * @param {{ tokenSeconds?: number, tokenLatencyMs?: number }} [options]
 */
export async function startService({ tokenSeconds = 900, tokenLatencyMs = 0 } = {}) {
  /** @type {Map<string, number>} The expiry of each access token, in ms since the epoch. */
  const valid = new Map();
  let refreshes = 0;

  /** @param {number} [leftSeconds] */
  const issue = (leftSeconds = tokenSeconds) => {
    const grant = newGrant(OPAQUE, tokenSeconds, leftSeconds);
    valid.set(grant.accessToken, grant.expiresAt);
    setTimeout(() => valid.delete(grant.accessToken), leftSeconds * 1_000).unref();
    return grant;
  };

  /** @type {(req: import('node:http').IncomingMessage, res: import('node:http').ServerResponse) => Promise<void>} */
  const respond = async (req, res) => {
    res.setHeader('content-type', 'application/json');
    if (req.url === TOKEN_PATH) {
      refreshes += 1;
      req.resume();
      // Issue the token before the simulated latency, because Cloakroom measures the token's lifetime from the time of its request.
      const { accessToken } = issue();
      await delay(tokenLatencyMs);
      res.end(JSON.stringify({ access_token: accessToken, expires_in: tokenSeconds }));
      return;
    }
    const expiresAt = valid.get(req.headers.authorization?.slice('Bearer '.length) ?? '');
    if (expiresAt === undefined) res.statusCode = 401;
    res.setHeader('x-expires-at', expiresAt ?? 0);
    res.end(BODY);
  };
  const server = createServer((req, res) => void respond(req, res));
  server.keepAliveTimeout = 0; // a timeout that closes a connection just as it is reused would fail a request
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  return {
    origin: `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}`,
    issue,
    get refreshes() {
      return refreshes;
    },
    stop() {
      server.close();
      server.closeAllConnections();
    },
  };
}
