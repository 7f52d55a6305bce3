import type { Verdict } from './finding.ts';

/** What is looked at, in the order in which it is told: the ids are for programs and stay as they are. */
export const configurationChecks = {
  'node-version': 'Node',
  mode: 'NODE_ENV',
  'unknown-variables': 'Variables that are not ours',
  'demo-values': 'Demo values',
  'session-keys': 'Session keys',
  'secret-files': 'Files of secrets',
  cookies: 'Cookies',
  proxies: 'Proxies in front',
  'session-times': 'Life of sessions',
  'renewal-time': 'Renewal of tokens',
  'balancer-times': 'Patience of balancers',
  'shutdown-time': 'Time to drain',
  metrics: 'Metrics',
} as const;

export const publicUrlChecks = { 'public-url': 'PUBLIC_URL' } as const;

export const redisChecks = {
  'redis-reachable': 'Redis',
  'redis-encryption': 'Redis: encryption',
  'redis-password': 'Redis: password',
  'redis-info': 'Redis: INFO',
  'redis-version': 'Redis: version',
  'redis-role': 'Redis: role',
  'redis-commands': 'Redis: commands',
  'redis-sign-in-limit': 'Redis: limit of sign-ins',
  'redis-eviction': 'Redis: eviction',
  'redis-memory': 'Redis: memory',
  'redis-persistence': 'Redis: persistence',
  'redis-clients': 'Redis: clients',
  'redis-latency': 'Redis: latency',
  'redis-clock': 'Redis: clock',
} as const;

export const serviceChecks = {
  'service-reachable': 'Service',
  'service-encryption': 'Service: encryption',
  'service-token-endpoint': 'Service: token endpoint',
  'service-credentials': 'Service: CLIENT_ID and CLIENT_SECRET',
  'service-sign-in': 'Service: authorization endpoint',
  'service-redirect-uri': 'Service: redirect URI',
  'service-clock': 'Service: clock',
} as const;

export type ConfigurationCheck = keyof typeof configurationChecks;
export type RedisCheck = keyof typeof redisChecks;
export type ServiceCheck = keyof typeof serviceChecks;

/** One thing that was looked at. */
export interface Finding extends Verdict {
  /** Of the tables above; or `variables`, in whose place stands a `variable:NAME` for each that has a problem. */
  readonly id: string;
  readonly title: string;
}

/** Verdicts as findings, in the order of their titles. */
export function toFindings<Id extends string>(
  titles: Readonly<Record<Id, string>>,
  verdicts: Readonly<Record<Id, Verdict>>,
): Finding[] {
  return (Object.keys(titles) as Id[]).map((id) => {
    const { status, detail, remedy } = verdicts[id];
    return { id, status, title: titles[id], detail, remedy };
  });
}
