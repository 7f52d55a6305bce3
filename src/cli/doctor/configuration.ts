import { DEFAULT_EXPIRES_IN_SECONDS } from '../../oauth/service-quirks.ts';
import { WAIT_BEYOND_TOKEN_TIMEOUT_MS, longestAhead } from '../../oauth/refresh/refresh-times.ts';
import type { Settings } from './settings.ts';
import { ok, skipped, warning } from './finding.ts';
import type { Verdict } from './finding.ts';

/** What deploy/haproxy.cfg and docs/operations.md give an answer (seconds), and what many balancers give an idle connection. */
export const BALANCER_SECONDS = 120;
const BALANCER_IDLE_SECONDS = 60;
/** How long Kubernetes waits before it kills; and what storing refreshed tokens may take at the end (run.ts). */
const KILLED_AFTER_SECONDS = 30;
const STORES_SECONDS = 2;

/** Times that are fine by themselves and don't fit one another, or those of what stands around us. */
export function checkTimes({ values }: Settings) {
  return {
    'session-times': judge([values.SESSION_IDLE_SECONDS, values.SESSION_MAX_SECONDS], judgeSession),
    'renewal-time': judge([values.REFRESH_AHEAD_SECONDS], judgeRenewal),
    'balancer-times': judge(
      [
        values.SERVICE_TIMEOUT_SECONDS,
        values.TOKEN_TIMEOUT_SECONDS,
        values.CLIENT_IDLE_SECONDS,
        values.TRUST_PROXY,
      ],
      judgeBalancer,
    ),
    'shutdown-time': judge([values.SHUTDOWN_SECONDS, values.TOKEN_TIMEOUT_SECONDS], judgeShutdown),
  };
}

/** Times with a problem of their own are told as that. */
function judge(times: readonly (number | undefined)[], by: (...times: number[]) => Verdict): Verdict {
  const known = times.filter((time) => time !== undefined);
  return known.length === times.length ? by(...known) : skipped('Its variables must be right first.');
}

function judgeSession(idle = 0, max = 0): Verdict {
  const detail = `Ends after ${idle} s without use, and after ${max} s in any case.`;
  if (idle <= max) return ok(detail);
  return warning(
    `${detail} The first never comes to be: SESSION_IDLE_SECONDS is longer than SESSION_MAX_SECONDS.`,
    'Make SESSION_IDLE_SECONDS the shorter one.',
  );
}

function judgeRenewal(ahead = 0): Verdict {
  const most = longestAhead(DEFAULT_EXPIRES_IN_SECONDS);
  if (ahead === 0) {
    return warning(
      'REFRESH_AHEAD_SECONDS is 0: no token is renewed before it is spent, so that somebody waits for each renewal.',
      'Give it a minute, the default.',
    );
  }
  if (ahead <= most) return ok(`In the background, ${ahead} s before a token is spent.`);
  return warning(
    `REFRESH_AHEAD_SECONDS is ${ahead}, but never more than a third of a token's life counts: ${most} s of the ${DEFAULT_EXPIRES_IN_SECONDS} s that the service gives by default.`,
    `Set it to ${most} or less, unless the service's tokens live longer.`,
  );
}

function judgeBalancer(service = 0, token = 0, idle = 0, proxies = 0): Verdict {
  const longest = 2 * (token + WAIT_BEYOND_TOKEN_TIMEOUT_MS / 1_000 + service);
  const detail = `An answer may take ${longest} s (a renewal and the service, twice), and an idle connection is kept for ${idle} s.`;
  if (longest > BALANCER_SECONDS) {
    return warning(
      `${detail} That is more than the ${BALANCER_SECONDS} s of deploy/haproxy.cfg.`,
      `Give balancers in front at least ${longest} s for an answer, or lower SERVICE_TIMEOUT_SECONDS.`,
    );
  }
  if (proxies > 0 && idle <= BALANCER_IDLE_SECONDS) {
    return warning(
      `${detail} Many balancers keep one for ${BALANCER_IDLE_SECONDS} s, and would send calls over one that just closes.`,
      'Make CLIENT_IDLE_SECONDS longer than what the balancer in front keeps.',
    );
  }
  return ok(detail);
}

function judgeShutdown(seconds = 0, token = 0): Verdict {
  const longest = Math.max(seconds, token) + STORES_SECONDS;
  const detail = `At most ${longest} s after SIGTERM: the longer of SHUTDOWN_SECONDS and TOKEN_TIMEOUT_SECONDS, and ${STORES_SECONDS} s to store what a refresh brings. Whatever kills the process must wait longer (Docker by default 10 s, Kubernetes 30 s).`;
  if (longest < KILLED_AFTER_SECONDS) return ok(detail);
  return warning(
    detail,
    'Lower SHUTDOWN_SECONDS, or raise terminationGracePeriodSeconds or stop_grace_period above that.',
  );
}
