import { expect } from '@jest/globals';
import { eventually } from './eventually.ts';

/** The expected content of a problem response and of its request's log line. */
export interface ExpectedProblem {
  readonly status: number;
  readonly code: string;
  /** The cause in the log line: an error code or message. */
  readonly logged: RegExp;
}

interface ProblemResponse {
  readonly status: number;
  /** Header names are in lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** Checks that the response states the problem without internal details, and that the log line states the cause. */
export async function expectProblem(
  { status, headers, body }: ProblemResponse,
  logged: () => readonly string[],
  problem: ExpectedProblem,
): Promise<void> {
  const requestId = String(headers['x-request-id']);
  expect(JSON.parse(body)).toMatchObject({ status: problem.status, code: problem.code, requestId });
  expect(status).toBe(problem.status);
  expect(headers['content-type']).toBe('application/problem+json');
  expect(headers['via']).toBeUndefined();
  expect(JSON.stringify(headers) + body).not.toMatch(
    /127\.0\.0\.1|localhost|\.invalid|ECONN|ENOTFOUND|UND_ERR|HPE_|CERT|socket|protocol|parser|\.[jt]s\b|\bat /i,
  );

  const line = () => logged().find((each) => each.includes(requestId) && each.includes('"msg":"request"'));
  await eventually(async () => line() !== undefined);
  const { code, cause } = JSON.parse(line() ?? '') as Record<string, unknown>;
  expect([code, cause]).toEqual([problem.code, expect.stringMatching(problem.logged)]);
}
