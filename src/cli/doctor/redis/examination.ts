import type { ClockReading } from '../clock.ts';
import { tryCommands } from '../redis-commands.ts';
import type { Refusal } from '../redis-commands.ts';
import { parseInfo } from './info.ts';
import type { Info } from './info.ts';
import { isForbidden, openLink } from '../redis-connection.ts';
import type { RedisAnswer, RedisLink } from '../redis-connection.ts';
import type { Place } from './place.ts';

/** What one Redis says of itself; null where it won't. */
export interface Examination {
  readonly name: string;
  readonly info: Info | null;
  /** An ACL is why it does not give INFO. */
  readonly isInfoForbidden: boolean;
  /** The setting `save`: when it writes all of its data to disk. */
  readonly save: string | null;
  readonly clock: ClockReading | null;
  /** Of some round trips, in ms. */
  readonly pings: readonly number[];
  /** Commands that were refused. */
  readonly refusals: readonly Refusal[];
}

const PINGS = 11;

/** Asks one Redis all that is to be known of it. Rejects with a Failure. `now` is in ms since the epoch. */
export async function examine(place: Place, prefix: string, now: () => number): Promise<Examination> {
  const link = await openLink(place);
  try {
    const info = await link.ask('INFO');
    return {
      name: place.name,
      isInfoForbidden: isForbidden(info),
      info: 'value' in info ? parseInfo(String(info.value)) : null,
      save: toSave(await link.ask('CONFIG', 'GET', 'save')),
      clock: await readClock(link, now),
      pings: await measurePings(link),
      refusals: await tryCommands(link, prefix),
    };
  } finally {
    link.close();
  }
}

function toSave(answer: RedisAnswer): string | null {
  const [, save] = 'value' in answer && Array.isArray(answer.value) ? (answer.value as unknown[]) : [];
  return typeof save === 'string' ? save : null;
}

async function readClock(link: RedisLink, now: () => number): Promise<ClockReading | null> {
  const askedAt = now();
  const answer = await link.ask('TIME');
  const toldAt = now();
  if (!('value' in answer)) return null;
  const [seconds, micros] = (answer.value as unknown[]).map(Number);
  return { theirs: (seconds ?? 0) * 1_000 + (micros ?? 0) / 1_000, exactToMs: 1, askedAt, toldAt };
}

async function measurePings(link: RedisLink): Promise<number[]> {
  const pings: number[] = [];
  while (pings.length < PINGS) {
    const before = performance.now();
    await link.ask('PING');
    pings.push(performance.now() - before);
  }
  return pings;
}
