import { DEMO_CLIENT, isLoopback } from '../../../config/schema.ts';
import type { Settings } from '../settings.ts';
import { ok, problem } from '../finding.ts';
import type { Verdict } from '../finding.ts';

/** What `.env.example` begins with, too. */
const DEMO = { CLIENT_ID: DEMO_CLIENT.id, CLIENT_SECRET: DEMO_CLIENT.secret } as const;

/** The demo's app and secret, in production or before a service on another host. */
export function checkDemoValues({ values, isProduction }: Settings): Verdict {
  const found = (['CLIENT_ID', 'CLIENT_SECRET'] as const).filter((name) => values[name] === DEMO[name]);
  const isElsewhere = values.SERVICE_URL !== undefined && !isLoopback(values.SERVICE_URL);
  if (found.length === 0) return ok('None is left from the examples.');
  if (!isElsewhere) {
    return ok(`${found.join(' and ')} of the local service${isProduction ? ', which is on this host' : ''}.`);
  }
  return problem(
    `${found.join(' and ')} still ${found.length > 1 ? 'have the values' : 'has the value'} of .env.example, which anybody can read.`,
    'Register an app of your own at the service, and set what it was given.',
  );
}
