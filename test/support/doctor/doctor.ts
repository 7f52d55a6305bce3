import { randomBytes } from 'node:crypto';
import type { Finding } from '../../../src/cli/doctor/checks.ts';
import { diagnose } from '../../../src/cli/doctor/run-checks.ts';
import type { Surroundings } from '../../../src/cli/doctor/run-checks.ts';
import { CLIENT_ID, CLIENT_SECRET } from '../constants.ts';
import type { TestApp } from '../test-app.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** A port where nobody ever listens, and that fetch never asks: to find that out takes no time. */
const NOBODY = '127.0.0.1:1';

/** A configuration in which nothing is wrong but that Redis and the service are away. */
export const soundEnv = {
  NODE_ENV: 'production',
  PUBLIC_URL: 'http://localhost:1',
  SERVICE_URL: `http://${NOBODY}`,
  CLIENT_ID: 'an-app',
  CLIENT_SECRET: 'a-secret-of-an-app',
  SCOPES: 'room:read room:write workspace:read',
  REDIS_URL: `redis://${NOBODY}`,
  SESSION_KEYS: randomBytes(32).toString('base64url'),
};

/** A configuration in which nothing is wrong: that of a testApp, whose service knows the demo's app. */
export function envOf(testApp: TestApp): Record<string, string> {
  return {
    ...soundEnv,
    PUBLIC_URL: testApp.origin,
    SERVICE_URL: testApp.serviceOrigin,
    CLIENT_ID,
    CLIENT_SECRET,
    REDIS_URL: testApp.privateRedis.url,
  };
}

/** What the doctor says of a sound configuration with changes, by id. */
export async function examined(
  changes: Env,
  surroundings: Partial<Surroundings> = {},
): Promise<(id: string) => Finding> {
  const findings = await diagnose({
    env: { ...soundEnv, ...changes },
    nodeVersion: '24.11.0',
    ignoresDotEnv: false,
    now: Date.now,
    tellFlaw(words) {
      throw new Error(words); // no test expects one unless it takes it itself
    },
    ...surroundings,
  });
  return (id) => {
    const found = findings.find((finding) => finding.id === id);
    if (found === undefined) throw new Error(`nothing was said of ${id}`);
    return found;
  };
}
