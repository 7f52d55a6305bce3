import { once } from 'node:events';
import { createServer } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { newGrant, OPAQUE } from './tokens.mjs';

const TOKEN_PATH = '/api/public/v1/authorization/oauth2/token';
const BODY = JSON.stringify({
  value: Array.from({ length: 10 }, (_, id) => ({ id, name: `Workspace ${id}` })),
});

/**
 * A service that has nothing to do but response, so that what is measured is Cloakroom. It takes its own living tokens
 * only, and tells with each response when the one that came with the request is spent.
 * @param {{ tokenSeconds?: number, tokenLatencyMs?: number }} [options]
 */
export async function startService({ tokenSeconds = 900, tokenLatencyMs = 0 } = {}) {
  /** @type {Map<string, number>} By access token: when it is spent, in ms since the epoch. */
  const living = new Map();
  let refreshes = 0;

  /** @param {number} [leftSeconds] */
  const issue = (leftSeconds = tokenSeconds) => {
    const grant = newGrant(OPAQUE, tokenSeconds, leftSeconds);
    living.set(grant.accessToken, grant.expiresAt);
    setTimeout(() => living.delete(grant.accessToken), leftSeconds * 1_000).unref();
    return grant;
  };

  /** @type {(req: import('node:http').IncomingMessage, res: import('node:http').ServerResponse) => Promise<void>} */
  const respond = async (req, res) => {
    res.setHeader('content-type', 'application/json');
    if (req.url === TOKEN_PATH) {
      refreshes += 1;
      req.resume();
      // Its life counts from here: whoever asked does not know better, and counts from the question.
      const { accessToken } = issue();
      await delay(tokenLatencyMs);
      res.end(JSON.stringify({ access_token: accessToken, expires_in: tokenSeconds }));
      return;
    }
    const expiresAt = living.get(req.headers.authorization?.slice('Bearer '.length) ?? '');
    if (expiresAt === undefined) res.statusCode = 401;
    res.setHeader('x-expires-at', expiresAt ?? 0);
    res.end(BODY);
  };
  const server = createServer((req, res) => void respond(req, res));
  server.keepAliveTimeout = 0; // a connection that ends just as it is used again would be a fault of its own
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
