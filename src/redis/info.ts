/** The reply to `INFO`, keyed by field. */
export type RedisInfo = ReadonlyMap<string, string>;

/** Parses the `field:value` lines of a reply to `INFO`. */
export function parseInfo(text: string): RedisInfo {
  return new Map(
    [...text.matchAll(/^(\w+):(.*?)\r?$/gm)].map(([, field = '', value = '']) => [field, value]),
  );
}

/** Returns whether Redis is full, according to the rule that Redis itself applies before a command that needs memory. */
export function isFull(info: RedisInfo): boolean {
  const bytes = (field: string) => Number(info.get(field) ?? 0);
  const limit = bytes('maxmemory');
  const counted = bytes('used_memory') - bytes('mem_not_counted_for_evict');
  return info.get('maxmemory_policy') === 'noeviction' && limit > 0 && counted > limit;
}
