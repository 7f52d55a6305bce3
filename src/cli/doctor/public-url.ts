import { Failure } from './network-errors.ts';
import { requireName } from './names.ts';
import { ask } from './service/ask.ts';
import type { Settings } from './settings.ts';
import { ok, skipped, warning } from './finding.ts';
import type { Verdict } from './finding.ts';

/** Who answers where browsers will go: nobody yet, perhaps, but nobody else. `now` is in ms since the epoch. */
export async function checkPublicUrl({ publicOrigin }: Settings, now: () => number): Promise<Verdict> {
  if (publicOrigin === undefined) return skipped('PUBLIC_URL, or PORT, must be right first.');
  try {
    await requireName(new URL(publicOrigin).hostname);
    const { status, headers, text } = await ask(`${publicOrigin}/healthz`, now);
    if (headers.has('x-request-id') && text.includes('"status":"ok"'))
      return ok(`Cloakroom answers at ${publicOrigin}.`);
    if (status === 502 || status === 503 || status === 504) {
      return skipped(`A proxy answers at ${publicOrigin}, and has no Cloakroom to ask yet (${status}).`);
    }
    return warning(
      `Something else than Cloakroom answers at ${publicOrigin} (${status}).`,
      'Let that address lead to Cloakroom, with all of its paths.',
    );
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return skipped(
      `${publicOrigin} ${error.what}, as seen from here. That is no fault where Cloakroom does not run yet, or where only browsers reach it that way.`,
    );
  }
}
