import type { Settings } from '../settings.ts';
import { ok, problem, skipped } from '../finding.ts';
import type { Verdict } from '../finding.ts';

/** 32 random bytes have about 30 different values; fewer than 20 never come by chance. */
const FEWEST_VALUES = 20;

/** Keys that somebody could guess: 32 bytes each, but not random ones. Names them by number only. */
export function checkSessionKeys({ values }: Settings): Verdict {
  const keys = values.SESSION_KEYS;
  if (keys === undefined) return skipped('SESSION_KEYS must be right first.');
  const weak = keys.flatMap((key, at) => {
    const why = weaknessOf(key);
    return why === undefined ? [] : [`Key ${at + 1} ${why}.`];
  });
  if (weak.length === 0) return ok(keys.length === 1 ? 'One, random.' : `${keys.length}, all random.`);
  return problem(
    `${weak.join(' ')} Whoever guesses a session key can sign cookies of their own.`,
    'Make new ones with npm run -s keygen. Sessions that were encrypted with a weak key should end with it.',
  );
}

function weaknessOf(key: Buffer): string | undefined {
  const bytes = [...key];
  const step = (at: number) => ((bytes[at + 1] ?? 0) - (bytes[at] ?? 0) + 256) % 256;
  if (bytes.every((byte) => byte === bytes[0])) return 'is one byte over and over';
  if (bytes.slice(1).every((_, at) => step(at) === step(0)))
    return 'counts up or down, as the keys of examples do';
  if (bytes.every((byte) => byte >= 0x20 && byte < 0x7f))
    return 'is text, such as a pass phrase, not random bytes';
  if (new Set(bytes).size < FEWEST_VALUES) return 'repeats a few bytes';
  return undefined;
}
