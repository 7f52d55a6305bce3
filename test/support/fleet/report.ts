import { appendFileSync } from 'node:fs';
import { tally, type FleetResponse } from './requests.ts';

/**
 * Adds a row to the table that `npm run test:faults` prints; does nothing under `npm test`. `fault` says what the test did, for
 * example "token endpoint responds with 502 with HTML". `sessionsLost` existed before the fault and could not be used after it.
 * `recoveredInMs` is from the end of the fault to the first request that succeeded; absent where no request had to wait for that.
 */
export function reportFault(
  fault: string,
  responses: readonly FleetResponse[],
  {
    sessionsLost = 0,
    recoveredInMs,
  }: { readonly sessionsLost?: number; readonly recoveredInMs?: number } = {},
): void {
  const file = process.env['FAULTS_REPORT'];
  if (file === undefined) return;
  const slowestMs = Math.max(0, ...responses.map(({ ms }) => ms));
  const row = {
    fault,
    requests: responses.length,
    responses: tally(responses),
    sessionsLost,
    slowestMs,
    recoveredInMs,
  };
  appendFileSync(file, `${JSON.stringify(row)}\n`);
}
