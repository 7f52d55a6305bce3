import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { Readable } from 'node:stream';
import { fromDist } from '../support/compiled.mjs';
import { createRedis, silentLog } from '../support/store.mjs';

/**
 * Runs the local service with additional paths for large bodies in both directions. The `X-Grant` header of each response
 * identifies the grant of the request's access token. Each session has its own grant.
 */

const { createLocalService } = /** @type {typeof import('../../src/local-service/local-service.ts')} */ (
  await fromDist('local-service/local-service.js')
);
const { loadProcessSettings } = /** @type {typeof import('../../src/local-service/config.ts')} */ (
  await fromDist('local-service/config.js')
);
const { createOAuthStore } = /** @type {typeof import('../../src/local-service/oauth-store.ts')} */ (
  await fromDist('local-service/oauth-store.js')
);
const SOAK = '/api/public/v1/soak/';
const CHUNK = Buffer.alloc(65_536, 'x');

const { config, redis: target } = loadProcessSettings(process.env);
if (target === undefined) throw new Error('REDIS_URL is not set.');
const redis = createRedis(target, silentLog);
const { accessTokens } = createOAuthStore(redis, config, Date.now);
const local = createLocalService(config, redis, silentLog);

const server = createServer((req, res) => {
  serve(req, res).catch(() => res.destroy()); // the client has disconnected
});
server.keepAliveTimeout = 0; // a timeout that closes a connection just as it is reused would cause unexplained failures
server.listen(config.port, config.host, () => process.send?.('listening'));

/** @type {(req: import('node:http').IncomingMessage, res: import('node:http').ServerResponse) => Promise<void>} */
async function serve(req, res) {
  const [, token] = /^Bearer (.+)$/.exec(req.headers.authorization ?? '') ?? [];
  const grant = token === undefined ? undefined : await accessTokens.grantOf(token);
  if (grant !== undefined) res.setHeader('x-grant', grant);
  if (req.url?.startsWith(SOAK) !== true) local(req, res);
  else if (await isValid(token)) await respond(new URL(req.url, 'http://service'), req, res);
  else res.writeHead(401).end();
}

/** @param {string | undefined} token */
async function isValid(token) {
  return token !== undefined && (await accessTokens.check(token)).state === 'valid';
}

/**
 * @param {URL} url
 * @param {import('node:http').IncomingMessage} req
 * @param {import('node:http').ServerResponse} res
 */
async function respond({ pathname, searchParams }, req, res) {
  if (pathname === `${SOAK}download`)
    await pipeline(Readable.from(bytes(Number(searchParams.get('bytes')))), res);
  else if (pathname === `${SOAK}echo`) await pipeline(req, res);
  else if (pathname === `${SOAK}upload`) {
    const hash = createHash('sha256');
    await pipeline(req, hash);
    res.end(hash.digest('hex'));
  } else res.end('{}');
}

/** @param {number} count */
function* bytes(count) {
  for (let left = count; left > 0; left -= CHUNK.length) yield CHUNK.subarray(0, left);
}
