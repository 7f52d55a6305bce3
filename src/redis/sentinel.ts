import { Redis } from 'ioredis';
import { LOGIN, toSentinelLogin, useLogin } from './login.ts';
import type { RedisLogin } from './login.ts';
import { endSilentConnections } from './watchdog.ts';

const SWITCHED = '+switch-master';

/**
 * Leaves a master that is none any more as soon as a Sentinel says so. One that hung would be noticed only when it
 * does not answer, and one that comes back after it was replaced goes on taking writes, which are lost, until a
 * Sentinel gets round to demoting it. ioredis has the same under `failoverDetector`, but that prints the addresses of
 * Sentinels that are away, asks them again only after a minute, and leaves the new master once more for each Sentinel
 * that tells late. Call the result to stop.
 */
export function watchSentinels(
  client: Redis,
  master: string,
  sentinels: readonly { readonly host: string; readonly port: number }[],
): () => void {
  const onSwitch = (_channel: string, message: string) => {
    const [name, , , host, port] = message.split(' ');
    const { stream } = client as { stream?: Redis['stream'] };
    const isThere = stream?.remoteAddress === host && stream?.remotePort === Number(port);
    if (name === master && !isThere) stream?.destroy();
  };

  const watchers = sentinels.map((options) => {
    const watcher = new Redis({ ...options, autoResubscribe: false });
    endSilentConnections(watcher);
    watcher.on('error', () => {}); // one that is away comes back by itself, and the others tell as well
    watcher.on('ready', () => void watcher.subscribe(SWITCHED).catch(() => {}));
    watcher.on('message', onSwitch);
    return watcher;
  });
  client.on(LOGIN, (login: RedisLogin) => {
    for (const { options } of watchers) useLogin(options, toSentinelLogin(login));
  });
  return () => {
    for (const watcher of watchers) watcher.disconnect();
  };
}
