import type { LookupAddress, LookupAllOptions } from 'node:dns';
import { lookup as dnsLookup } from 'node:dns/promises';
import type { LookupFunction } from 'node:net';

/** How long a failed lookup also applies to new connections, in ms. */
const FAILURE_LASTS_MS = 1_000;

type ResolveAll = (hostname: string, options: LookupAllOptions) => Promise<LookupAddress[]>;

/**
 * Creates a replacement for `dns.lookup` that runs only one lookup of a name at a time. Connections that need the same name
 * meanwhile, or within a second of a failure, get the same result. Addresses are not kept, so a change in DNS applies immediately.
 */
export function createSharedLookup(resolveAll: ResolveAll = dnsLookup): LookupFunction {
  const results = new Map<string, Promise<LookupAddress[]>>();
  return (hostname, { all, ...options }, done) => {
    const key = JSON.stringify([hostname, options]);
    let result = results.get(key);
    if (result === undefined) {
      const forget = () => results.delete(key);
      result = resolveAll(hostname, { ...options, all: true });
      result.then(forget, () => setTimeout(forget, FAILURE_LASTS_MS).unref());
      results.set(key, result);
    }
    result.then(
      (addresses) =>
        done(null, all === true ? addresses : (addresses[0]?.address ?? ''), addresses[0]?.family),
      (error: unknown) => done(error as NodeJS.ErrnoException, ''),
    );
  };
}

/**
 * The lookup for all connections to the service. libuv runs only two lookups at a time, so without sharing, lookups that take seconds to
 * fail would delay requests more and more, and also keep Redis from reconnecting.
 */
export const sharedLookup = createSharedLookup();
