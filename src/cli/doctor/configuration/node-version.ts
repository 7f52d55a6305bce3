import { ok, problem, warning } from '../finding.ts';
import type { Verdict } from '../finding.ts';

const REMEDY = 'Use Node 24, as the container does.';
/** Those that the tests run on. */
const TRIED = new Set([20, 22, 24]);

/** `version` as in `process.versions.node`. */
export function checkNodeVersion(version: string): Verdict {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major < 20 || (major === 20 && minor < 19)) {
    return problem(`${version} is too old: Cloakroom needs 20.19 or newer.`, REMEDY);
  }
  if (major === 20) return warning(`${version} runs it, but Node 20 gets no more fixes.`, REMEDY);
  if (TRIED.has(major)) return ok(version);
  return warning(
    major % 2 === 1
      ? `${version} is of an odd line, which gets fixes for half a year only.`
      : `${version} is a line that Cloakroom was not tried on.`,
    REMEDY,
  );
}
