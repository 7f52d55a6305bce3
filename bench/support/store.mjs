import { fromDist } from './compiled.mjs';

const { createLog } = /** @type {typeof import('../../src/observability/logger.ts')} */ (
  await fromDist('observability/logger.js')
);
const { startPrivateRedis } = /** @type {typeof import('../../src/redis/private-redis.ts')} */ (
  await fromDist('redis/private-redis.js')
);
const { parseRedisUrl } = /** @type {typeof import('../../src/config/redis-url.ts')} */ (
  await fromDist('config/redis-url.js')
);
const { closeRedis, createRedis, redisReady } = /** @type {typeof import('../../src/redis/client.ts')} */ (
  await fromDist('redis/client.js')
);

export const silentLog = createLog('silent');

/**
 * A Redis that ends with this process, and a connection of our own to it. `port` opens it to clients that know of no
 * sockets but those of TCP.
 * @param {{ port?: number }} [options]
 */
export async function startStore({ port } = {}) {
  const server = await startPrivateRedis(port === undefined ? [] : [`port ${port}`, 'bind 127.0.0.1']);
  const redis = createRedis(parseRedisUrl(server.url), silentLog);
  await redisReady(redis);

  /**
   * All that INFO says of a section, by name.
   * @param {string} section
   */
  const info = async (section) => {
    const text = /** @type {string} */ (await redis.call('INFO', section));
    return new Map(text.split('\r\n').map((line) => /** @type {[string, string]} */ (splitOnce(line))));
  };

  return {
    url: port === undefined ? server.url : `redis://127.0.0.1:${port}`,
    pid: server.pid,
    /** Where it writes its files. */
    folder: new URL('.', server.url.replace('redis+unix:', 'file:')),
    redis,
    info,
    async stop() {
      await closeRedis(redis);
      await server[Symbol.asyncDispose]();
    },
  };
}

/** @param {string} line */
function splitOnce(line) {
  const at = line.indexOf(':');
  return [line.slice(0, at), line.slice(at + 1)];
}
