import { aheadBy, aheadInWords } from '../clock.ts';
import { ok, problem, skipped, warning } from '../finding.ts';
import type { Verdict } from '../finding.ts';
import type { Examination } from './examination.ts';

/** Each call waits for Redis once (ms). */
const SLOW_MS = 10;
const TOO_SLOW_MS = 250;
const CLOCK_OFF_MS = 5_000;

/** By the median: one slow answer is none. */
export function judgeLatency({ pings }: Examination): Verdict {
  const median = pings.toSorted((a, b) => a - b)[Math.floor(pings.length / 2)] ?? 0;
  const detail = `${median < 1 ? 'Less than 1' : Math.round(median)} ms there and back; every call waits for that once.`;
  const remedy = 'Bring Redis and Cloakroom nearer to each other, and look at the load of both.';
  if (median > TOO_SLOW_MS) return problem(`${detail} Commands are given up after 1.5 s.`, remedy);
  return median > SLOW_MS ? warning(detail, remedy) : ok(detail);
}

/** What lives in Redis ends by its clock. */
export function judgeRedisClock({ clock }: Examination): Verdict {
  if (clock === null) {
    return skipped(
      'It refuses TIME, which Cloakroom does without.',
      'To have it compared here: ACL SETUSER <user> +time',
    );
  }
  const ahead = aheadBy(clock);
  if (Math.abs(ahead) <= CLOCK_OFF_MS) return ok('As ours.');
  return warning(
    `Ours is ${aheadInWords(ahead)} its clock. Sessions end by their age by our clock, and for want of use by that of Redis.`,
    'Let every machine keep its time by NTP.',
  );
}
