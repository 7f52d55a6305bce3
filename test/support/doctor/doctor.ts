import { randomBytes } from 'node:crypto';
import { expect } from '@jest/globals';
import type { Finding } from '../../../src/cli/doctor/finding.ts';
import { runChecks } from '../../../src/cli/doctor/run-checks.ts';
import { CLIENT_ID, CLIENT_SECRET } from '../constants.ts';
import type { TestApp } from '../test-app.ts';

/** A valid configuration in which Redis and the service are unreachable. */
export const validEnv = {
  NODE_ENV: 'production',
  PUBLIC_URL: 'http://localhost:1',
  SERVICE_URL: 'http://127.0.0.1:1',
  CLIENT_ID: 'an-app',
  CLIENT_SECRET: 'a-secret-of-an-app',
  SCOPES: 'room:read room:write workspace:read',
  REDIS_URL: 'redis://127.0.0.1:1',
  SESSION_KEYS: randomBytes(32).toString('base64url'),
};

/** Returns the configuration of a test app that is registered with its service. */
export function envOf(testApp: TestApp): Record<string, string> {
  return {
    ...validEnv,
    PUBLIC_URL: testApp.origin,
    SERVICE_URL: testApp.serviceOrigin,
    CLIENT_ID,
    CLIENT_SECRET,
    REDIS_URL: testApp.privateRedis.url,
  };
}

/** Runs the doctor on a valid configuration with these changes. Returns a function that looks up a finding by its id. */
export async function runDoctor(
  changes: Readonly<Record<string, string | undefined>>,
  options?: Parameters<typeof runChecks>[1],
): Promise<(id: string) => Finding> {
  const findings = await runChecks({ ...validEnv, ...changes }, options);
  return (id) => {
    const found = findings.find((each) => each.id === id);
    if (found === undefined) throw new Error(`the report has no ${id}`);
    return found;
  };
}

/** Returns a pattern for `toMatchObject`: a finding with this status, whose detail and remedy contain these texts. */
export function finding(status: Finding['status'], detail: string | RegExp, remedy = '') {
  return {
    status,
    detail: typeof detail === 'string' ? expect.stringContaining(detail) : expect.stringMatching(detail),
    remedy: expect.stringContaining(remedy),
  };
}
