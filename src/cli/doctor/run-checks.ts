import type { Env } from '../../config/env.ts';
import { settlesWithin } from '../../promises.ts';
import { checkConfiguration, readSettings } from './configuration.ts';
import { problem, runAll, withoutSubject, type Check, type Finding, type Result } from './finding.ts';
import { checkRedis, redisChecks } from './redis-checks.ts';
import { checkPublicUrl, checkService, serviceChecks } from './service.ts';

export interface Circumstances {
  readonly env: Env;
  /** Whether production does not read the `.env` of this folder. */
  readonly ignoresDotEnv: boolean;
  readonly now: () => number;
  /** Takes the description of a defect in a check; it holds no secret. */
  readonly reportDefect: (description: string) => void;
  /** For all checks together. */
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 18_000;

/** Runs all checks side by side, within 18 s unless told otherwise. Leaves nothing behind in Redis and at the service. */
export async function runChecks(circumstances: Circumstances): Promise<Finding[]> {
  const { env, ignoresDotEnv, now } = circumstances;
  const settings = readSettings(env);
  const publicUrl = checkPublicUrl(settings).then((result) => runAll(publicUrlChecks, result));
  const findings = await Promise.all([
    inTime(publicUrlChecks, publicUrl, circumstances),
    inTime(redisChecks, checkRedis(settings, now), circumstances),
    inTime(serviceChecks, checkService(settings), circumstances),
  ]);
  return [checkConfiguration(settings, ignoresDotEnv), ...findings].flat();
}

const publicUrlChecks: readonly Check<Result>[] = [
  { id: 'public-url', title: 'PUBLIC_URL', run: (result) => result },
];

/** Turns a check that takes too long, or has a defect, into a finding, so that the others still count. */
async function inTime<Subject>(
  checks: readonly Check<Subject>[],
  findings: Promise<Finding[]>,
  { timeoutMs = TIMEOUT_MS, reportDefect }: Circumstances,
): Promise<Finding[]> {
  const without = (first: Result) => withoutSubject(checks, first, 'No result.');
  try {
    if (await settlesWithin(findings, timeoutMs)) return await findings;
    return without(
      problem(
        `The checks took longer than ${timeoutMs / 1_000} s.`,
        'Check the network in between, and the load of both ends.',
      ),
    );
  } catch (error) {
    reportDefect(`The check ${checks[0]?.id ?? ''} has a defect: ${describeDefect(error)}`);
    return without(
      problem(
        'The check itself failed.',
        'Report it to the authors of Cloakroom, with the lines on standard error. They hold no secret.',
      ),
    );
  }
}

/** The type of an error and its stack frames, without the message, which may quote what was sent. */
function describeDefect(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  const { name, message, stack = '' } = error;
  // Lines of the message may look like frames. Where it was changed later, it can't be told from them.
  const at = stack.indexOf(message);
  const frames = at === -1 ? [] : stack.slice(at + message.length).match(/^ {4}at .+$/gm);
  return [name, ...(frames ?? [])].join('\n');
}
