import type { RedisTarget } from '../../../config/redis-url.ts';
import { Failure } from '../network-errors.ts';
import { warning } from '../finding.ts';
import type { Verdict } from '../finding.ts';
import { openLink } from '../redis-connection.ts';
import type { RedisLink } from '../redis-connection.ts';
import type { Place } from './place.ts';

export type SentinelTarget = Extract<RedisTarget, { kind: 'sentinel' }>;
export type ClusterTarget = Extract<RedisTarget, { kind: 'cluster' }>;

/** The masters that sessions stand at, and what was strange on the way to them. */
export interface Survey {
  readonly masters: readonly Place[];
  readonly remarks: readonly Verdict[];
}

/** What several have said that know the way, and a remark for each that could not be asked. */
export interface Hearsay<T> {
  readonly said: readonly T[];
  readonly remarks: readonly Verdict[];
}

/** Asks each of several. One that is away is bad luck, for the others serve: a warning. */
export async function askEach<T>(
  places: readonly Place[],
  kind: string,
  question: (link: RedisLink, place: Place) => Promise<T>,
): Promise<Hearsay<T>> {
  const outcomes = await Promise.all(
    places.map(async (place) => {
      try {
        return { said: await askOne(place, question) };
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
        return { remark: warning(`${kind} ${place.name} ${error.what}.`, error.remedy) };
      }
    }),
  );
  return {
    said: outcomes.flatMap((outcome) => ('said' in outcome ? [outcome.said] : [])),
    remarks: outcomes.flatMap((outcome) => ('remark' in outcome ? [outcome.remark] : [])),
  };
}

async function askOne<T>(place: Place, question: (link: RedisLink, place: Place) => Promise<T>): Promise<T> {
  const link = await openLink(place);
  try {
    return await question(link, place);
  } finally {
    link.close();
  }
}

/** Nobody knows the way: what was strange is what is wrong. */
export function lost(remarks: readonly Verdict[]): Survey {
  return {
    masters: [],
    remarks: remarks.map(({ detail, remedy }) => ({ status: 'problem', detail, remedy })),
  };
}
