import { settlesWithin } from '../../promises.ts';
import type { Env } from '../../config/env.ts';
import { configurationChecks, publicUrlChecks, redisChecks, serviceChecks, toFindings } from './checks.ts';
import type { ConfigurationCheck, Finding } from './checks.ts';
import { checkCookies } from './configuration/cookies.ts';
import { checkDemoValues } from './configuration/demo-values.ts';
import { checkMetrics } from './configuration/metrics.ts';
import { checkMode } from './configuration/mode.ts';
import { checkNodeVersion } from './configuration/node-version.ts';
import { checkProxies } from './configuration/proxies.ts';
import { checkFileModes } from './configuration/file-modes.ts';
import { checkSessionKeys } from './configuration/session-keys.ts';
import { checkTimes } from './configuration.ts';
import { checkUnknownVariables } from './unknown-variables.ts';
import { checkVariables } from './configuration/variables.ts';
import { whereFrom } from './flaw.ts';
import { checkPublicUrl } from './public-url.ts';
import { checkRedis } from './redis-checks.ts';
import { checkService } from './service.ts';
import { readSettings } from './settings.ts';
import type { Settings } from './settings.ts';
import { problem, skipped, verdictForAll } from './finding.ts';
import type { Verdict } from './finding.ts';

/** What stands around a configuration. */
export interface Surroundings {
  readonly env: Env;
  /** As in `process.versions.node`. */
  readonly nodeVersion: string;
  /** Whether a `.env` is here that is not read. */
  readonly ignoresDotEnv: boolean;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Takes what those who make Cloakroom must know of a check that broke: no secret, and nothing for a report. */
  readonly tellFlaw: (words: string) => void;
  /** For all of it; what is not known by then is told as that. */
  readonly withinMs?: number;
}

const WITHIN_MS = 18_000;

/** Looks at everything, side by side, within 18 s unless told otherwise. Leaves nothing behind, at Redis or at the service. */
export async function diagnose(surroundings: Surroundings): Promise<Finding[]> {
  const { env, now, tellFlaw, withinMs = WITHIN_MS } = surroundings;
  const bounds = { withinMs, tellFlaw };
  const settings = readSettings(env);
  const [redis, service, publicUrl] = await Promise.all([
    inTime(bounds, redisChecks, 'redis-reachable', checkRedis(settings, now)),
    inTime(bounds, serviceChecks, 'service-reachable', checkService(settings, now)),
    inTime(
      bounds,
      publicUrlChecks,
      'public-url',
      checkPublicUrl(settings, now).then((verdict) => ({ 'public-url': verdict })),
    ),
  ]);
  return [
    ...checkVariables(settings, surroundings.ignoresDotEnv),
    ...toFindings(configurationChecks, checkConfiguration(settings, surroundings.nodeVersion)),
    ...toFindings(publicUrlChecks, publicUrl),
    ...toFindings(redisChecks, redis),
    ...toFindings(serviceChecks, service),
  ];
}

function checkConfiguration(settings: Settings, nodeVersion: string): Record<ConfigurationCheck, Verdict> {
  return {
    'node-version': checkNodeVersion(nodeVersion),
    mode: checkMode(settings),
    'unknown-variables': checkUnknownVariables(settings.env),
    'demo-values': checkDemoValues(settings),
    'session-keys': checkSessionKeys(settings),
    'secret-files': checkFileModes(settings.env),
    cookies: checkCookies(settings),
    proxies: checkProxies(settings),
    ...checkTimes(settings),
    metrics: checkMetrics(settings),
  };
}

/** A check that takes too long, or has a flaw itself, is a finding, too, and the others are told. */
async function inTime<Id extends string>(
  { withinMs, tellFlaw }: { readonly withinMs: number } & Pick<Surroundings, 'tellFlaw'>,
  titles: Readonly<Record<Id, string>>,
  first: NoInfer<Id>,
  check: Promise<Record<Id, Verdict>>,
): Promise<Record<Id, Verdict>> {
  const insteadOf = (verdict: Verdict) => ({
    ...verdictForAll(titles, skipped('Nothing was found out.')),
    [first]: verdict,
  });
  try {
    if (await settlesWithin(check, withinMs)) return await check;
    const seconds = withinMs / 1_000;
    return insteadOf(
      problem(`Not all was answered within ${seconds} s.`, 'Check the way there, and the load of both ends.'),
    );
  } catch (error) {
    tellFlaw(`The check ${first} broke: ${whereFrom(error)}`);
    return insteadOf(
      problem(
        'An answer came that this check has no words for.',
        'Tell those who make Cloakroom, with what stands on standard error: no secret is in it.',
      ),
    );
  }
}
