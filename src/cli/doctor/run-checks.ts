import type { Env } from '../../config/env.ts';
import { settlesWithin } from '../../promises.ts';
import { checkConfiguration, readSettings } from './configuration.ts';
import { problem, runAll, type Check, type Finding, type Result } from './finding.ts';
import { readRedis, redisChecks } from './redis-checks.ts';
import { publicUrlChecks, readPublicUrl, readService, serviceChecks } from './service.ts';

const TIMEOUT_MS = 18_000;

/**
 * Runs all checks in parallel, within 18 s by default. Leaves nothing behind in Redis or the service. `ignoresDotEnv` means
 * that the `.env` in the current folder was not read because of production mode.
 */
export async function runChecks(
  env: Env,
  { ignoresDotEnv = false, timeoutMs = TIMEOUT_MS } = {},
): Promise<Finding[]> {
  const settings = readSettings(env);
  const findings = await Promise.all([
    inTime(publicUrlChecks, readPublicUrl(settings), timeoutMs),
    inTime(redisChecks, readRedis(settings), timeoutMs),
    inTime(serviceChecks, readService(settings), timeoutMs),
  ]);
  return [checkConfiguration(settings, ignoresDotEnv), ...findings].flat();
}

/** Turns a timeout or a bug into a finding, so that the other checks are still reported. */
async function inTime<Subject extends object>(
  checks: readonly Check<Subject>[],
  subject: Promise<Subject | Result>,
  timeoutMs: number,
): Promise<Finding[]> {
  try {
    if (await settlesWithin(subject, timeoutMs)) return runAll(checks, await subject);
    const slow = `The checks took longer than ${timeoutMs / 1_000} s.`;
    return runAll(checks, problem(slow, 'Check the network, and the load on both hosts.'));
  } catch (error) {
    const defect = `The check itself failed: ${describeDefect(error)}`;
    return runAll(
      checks,
      problem(defect, 'Report this line, which contains no secrets, to the authors of Cloakroom.'),
    );
  }
}

/** Returns the type of an error and its location in the code, without the message, which may quote a secret. */
export function describeDefect(error: unknown): string {
  const { name = typeof error, message = '', stack = '' } = error as Partial<Error>;
  // The message may have lines that look like stack frames, so remove it first. If the message was changed later, return no frame.
  const [, frames = ''] = stack.split(`${name}: ${message}\n`);
  return `${name} ${/^ {4}(at .+)$/m.exec(frames)?.[1] ?? ''}`;
}
