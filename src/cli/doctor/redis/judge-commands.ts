import { ok, problem, warning } from '../finding.ts';
import type { Verdict } from '../finding.ts';
import type { Refusal } from '../redis-commands.ts';

/** The limit of sign-ins alone needs it; without it each process counts for itself. */
const FOR_LIMIT = new Set(['INCR']);

const ALLOW = 'Allow them to the user in REDIS_URL:';

/** What Cloakroom can't do without. */
export function judgeCommands(refusals: readonly Refusal[]): Verdict {
  const essential = refusals.filter(({ command }) => !FOR_LIMIT.has(command));
  const of = (reason: Refusal['reason']) =>
    essential.filter((refusal) => refusal.reason === reason).map(({ command }) => command);
  if (of('replica').length > 0)
    return problem('It takes no writes: it is a replica.', 'Name the master in REDIS_URL.');
  if (of('full').length > 0) {
    return problem(
      'It is full, and takes no writes: nobody can sign in.',
      'Raise maxmemory, or find out what else is kept there.',
    );
  }
  if (of('disk').length > 0) {
    return problem(
      'It takes no writes, since it can’t save them (MISCONF).',
      'Look at its log, and at its disk.',
    );
  }
  if (of('replicas').length > 0) {
    return problem(
      'It takes no writes: too few replicas follow it (min-replicas-to-write).',
      'Bring its replicas back.',
    );
  }
  if (of('key').length > 0) {
    return problem(
      'Its user may not touch keys that begin with REDIS_PREFIX.',
      'Allow them to the user in REDIS_URL: ACL SETUSER <user> ~<REDIS_PREFIX>*',
    );
  }
  const forbidden = of('right');
  if (forbidden.length > 0) {
    return problem(`Its user may not run ${forbidden.join(', ')}.`, `${ALLOW} ${toAcl(forbidden)}`);
  }
  const unknown = of('unknown');
  if (unknown.length > 0) {
    return problem(
      `It does not know ${unknown.join(', ')}.`,
      'Use Redis 6.2 or newer, or one where these commands are not renamed.',
    );
  }
  const failed = of('other');
  if (failed.length > 0) return problem(`It refuses ${failed.join(', ')}.`, 'Look at its log.');
  return ok('It takes all that Cloakroom uses, under REDIS_PREFIX.');
}

/** What only a part needs that works without, though less well. */
export function judgeLimitCommands(refusals: readonly Refusal[]): Verdict {
  const forbidden = refusals
    .filter(({ command, reason }) => FOR_LIMIT.has(command) && reason === 'right')
    .map(({ command }) => command);
  if (forbidden.length === 0) return ok('All processes can count together.');
  return warning(
    `Its user may not run ${forbidden.join(', ')}: each process counts sign-ins by itself.`,
    `${ALLOW} ${toAcl(forbidden)}`,
  );
}

function toAcl(commands: readonly string[]): string {
  return `ACL SETUSER <user> ${commands.map((command) => `+${command.toLowerCase()}`).join(' ')}`;
}
