import { fromDist } from './compiled.mjs';

const { createLog } = /** @type {typeof import('../../src/observability/logger.ts')} */ (
  await fromDist('observability/logger.js')
);
export const { startPrivateRedis } = /** @type {typeof import('../../src/redis/private-redis.ts')} */ (
  await fromDist('redis/private-redis.js')
);
export const { parseRedisUrl } = /** @type {typeof import('../../src/config/redis-url.ts')} */ (
  await fromDist('config/redis-url.js')
);
export const { closeRedis, createRedis, redisReady } =
  /** @type {typeof import('../../src/redis/client.ts')} */ (await fromDist('redis/client.js'));
const { parseInfo } = /** @type {typeof import('../../src/redis/info.ts')} */ (
  await fromDist('redis/info.js')
);

export const silentLog = createLog('silent');

/**
 * Starts a Redis server that exits with this process, and connects to the server. With `port`, Redis also listens on TCP, for
 * clients that can't use Unix sockets.
 * @param {{ port?: number }} [options]
 */
export async function startStore({ port } = {}) {
  const server = await startPrivateRedis(port === undefined ? [] : [`port ${port}`, 'bind 127.0.0.1']);
  const redis = createRedis(parseRedisUrl(server.url), silentLog);
  await redisReady(redis);

  /** @param {string} section of INFO */
  const info = async (section) => parseInfo(await redis.info(section));

  return {
    url: port === undefined ? server.url : `redis://127.0.0.1:${port}`,
    pid: server.pid,
    /** The folder of the snapshot and the append-only file. */
    folder: new URL('.', server.url.replace('redis+unix:', 'file:')),
    redis,
    info,
    async stop() {
      await closeRedis(redis);
      await server[Symbol.asyncDispose]();
    },
  };
}
