import type { RedisOptions } from 'ioredis';
import type { RedisLogin } from '../../../redis/login.ts';

/** Where a Redis is, how to log in, and how to call it in a report. */
export interface Place {
  readonly name: string;
  readonly options: Pick<RedisOptions, 'host' | 'port' | 'path' | 'tls' | 'username' | 'password'>;
  readonly db: number;
}

type Address =
  { readonly host: string; readonly port: number; readonly tls?: boolean } | { readonly path: string };

/** A place by its address. Its name says nothing of the login. */
export function toPlace(address: Address, { username, password }: RedisLogin, db = 0): Place {
  const login = { ...(username !== undefined && { username }), ...(password !== undefined && { password }) };
  if ('path' in address) return { name: 'its socket', options: { path: address.path, ...login }, db };
  const { host, port, tls = false } = address;
  return {
    name: `${host.includes(':') ? `[${host}]` : host}:${port}`,
    options: { host, port, ...(tls && { tls: {} }), ...login },
    db,
  };
}

/** Each place once. */
export function distinct(places: readonly Place[]): Place[] {
  return [...new Map(places.map((place) => [place.name, place])).values()];
}
