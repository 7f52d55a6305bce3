import { appendFileSync } from 'node:fs';
import { tally, type FleetResponse } from './requests.ts';

/**
 * Adds a row to the table that `npm run test:faults` prints. Does nothing under `npm test`. `fault` describes the fault, for
 * example "token endpoint responds with 502 and HTML". `sessionsLost` counts sessions that were unusable after the fault.
 * `recoveredInMs` is the time until requests succeeded again, and is absent if no request had to wait.
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
