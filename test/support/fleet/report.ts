import { appendFileSync } from 'node:fs';
import { tally, type FleetResponse } from './requests.ts';

/** What a test did to the testApp, and what came of it: a row of the table that `npm run test:faults` prints. */
export interface FaultRow {
  /** E.g. "token endpoint responds with 502 with HTML". */
  readonly fault: string;
  readonly responses: readonly FleetResponse[];
  /** Sessions that were there before and could not be used after it. */
  readonly sessionsLost: number;
  /** From the end of the fault to the first call that went through; absent where none had to wait for that. */
  readonly recoveredInMs?: number;
}

/** Writes a row where `npm run test:faults` asked for it; does nothing under `npm test`. */
export function reportFault({ fault, responses, sessionsLost, recoveredInMs }: FaultRow): void {
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
