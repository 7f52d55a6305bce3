import { createHash } from 'node:crypto';
import { toUnreadableAnswer } from './service-errors.ts';

/**
 * Watches the tokens of one walk: one that comes a second time would lead on for ever, and is refused with a 502. Of each a
 * digest is kept: they may be long.
 */
export function createLoopGuard(): (next: string | undefined) => void {
  const seen = new Set<string>();
  return (next) => {
    if (next === undefined) return;
    const digest = createHash('sha256').update(next).digest('base64url');
    if (seen.has(digest)) throw toUnreadableAnswer('the list leads from one page back to an earlier one');
    seen.add(digest);
  };
}
