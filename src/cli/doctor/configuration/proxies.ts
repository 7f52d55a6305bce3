import type { Settings } from '../settings.ts';
import { ok, skipped, warning } from '../finding.ts';
import type { Verdict } from '../finding.ts';

/** TRUST_PROXY beside PUBLIC_URL: Cloakroom itself speaks no TLS. */
export function checkProxies({ publicOrigin, values }: Settings): Verdict {
  const trusted = values.TRUST_PROXY;
  if (publicOrigin === undefined || trusted === undefined)
    return skipped('PUBLIC_URL and TRUST_PROXY must be right first.');
  if (publicOrigin.startsWith('https:') && trusted === 0) {
    return warning(
      'PUBLIC_URL is https, so a proxy in front ends TLS, but TRUST_PROXY is 0: its address stands for every browser, in the log and in limits by address.',
      'Set TRUST_PROXY to the number of proxies in front, and let the first one set X-Forwarded-For.',
    );
  }
  if (trusted === 0) return ok('None is believed, and none is needed.');
  return ok(
    `The last ${trusted === 1 ? 'one is' : `${trusted} are`} believed: let nobody reach HOST and PORT but through ${trusted === 1 ? 'it' : 'them'}.`,
  );
}
