import { Redis } from 'ioredis';
import type { RedisTarget } from '../config/redis-url.ts';
import type { ConnectionOptions } from './client.ts';
import { LOGIN, toSentinelLogin, useLogin, type RedisLogin } from './login.ts';
import { endSilentConnections } from './watchdog.ts';

type SentinelTarget = RedisTarget & { kind: 'sentinel' };

/** Maximum wait for a reply before trying the next Sentinel. */
const SENTINEL_TIMEOUT_MS = 500;
const SWITCHED = '+switch-master';

/** Connects to the master that the Sentinels report, and follows failovers until `stop` is called. */
export function connectThroughSentinels(
  target: SentinelTarget,
  options: ConnectionOptions & { readonly db: number },
): { readonly client: Redis; readonly stop: () => void } {
  const { password: sentinelPassword } = toSentinelLogin(target);
  const client = new Redis({
    ...options,
    sentinels: target.sentinels.map((node) => ({ ...node })),
    name: target.master,
    sentinelRetryStrategy: options.retryStrategy,
    sentinelCommandTimeout: SENTINEL_TIMEOUT_MS,
    ...(sentinelPassword !== undefined && { sentinelPassword }),
  });
  endSilentConnections(client);
  return { client, stop: watchSentinels(client, target, options) };
}

/**
 * Disconnects from the master as soon as a Sentinel announces a new one. Otherwise, the client would not notice a hung master until its
 * next command. A former master that comes back accepts writes until a Sentinel demotes it, but those writes are lost. The
 * `failoverDetector` of ioredis prints the addresses of lost Sentinels and retries them only after a minute. The detector also disconnects
 * from the new master each time another Sentinel announces that master late.
 */
function watchSentinels(client: Redis, target: SentinelTarget, options: ConnectionOptions): () => void {
  const onSwitch = (_channel: string, message: string) => {
    const [name, , , host, port] = message.split(' ');
    const { stream } = client as { stream?: Redis['stream'] };
    const isThere = stream?.remoteAddress === host && stream?.remotePort === Number(port);
    if (name === target.master && !isThere) stream?.destroy();
  };

  const { username: _username, password: _password, ...others } = options;
  const watchers = target.sentinels.map((sentinel) => {
    const login = toSentinelLogin(target);
    const watcher = new Redis({ ...others, ...login, ...sentinel, db: 0, autoResubscribe: false });
    endSilentConnections(watcher);
    watcher.on('error', () => {}); // the watcher reconnects, and the other Sentinels announce the same switch
    watcher.on('ready', () => void watcher.subscribe(SWITCHED).catch(() => {}));
    watcher.on('message', onSwitch);
    return watcher;
  });
  client.on(LOGIN, (login: RedisLogin) => {
    for (const watcher of watchers) useLogin(watcher.options, toSentinelLogin(login));
  });
  return () => {
    for (const watcher of watchers) watcher.disconnect();
  };
}
