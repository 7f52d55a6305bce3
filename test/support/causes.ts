import { expect } from '@jest/globals';
import { eventually } from './eventually.ts';

/** What an answer of the gateway's own must say, and what its log must. */
export interface Cause {
  readonly status: number;
  readonly code: string;
  /** What the log line says of the cause, by an error's code or message. */
  readonly logged: RegExp;
}

/** An answer of the gateway's own. */
interface OwnAnswer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** That an answer says what it must and nothing of what is behind it, and that the log (its lines) does. */
export async function expectCause(
  { status, headers, body }: OwnAnswer,
  logged: () => readonly string[],
  cause: Cause,
): Promise<void> {
  const requestId = String(headers['x-request-id']);
  expect(JSON.parse(body)).toMatchObject({ status: cause.status, code: cause.code, requestId });
  expect(status).toBe(cause.status);
  expect(headers['content-type']).toBe('application/problem+json');
  expect(headers['via']).toBeUndefined();
  expect(JSON.stringify(headers) + body).not.toMatch(
    /127\.0\.0\.1|localhost|\.invalid|ECONN|ENOTFOUND|UND_ERR|HPE_|CERT|socket|protocol|parser|\.[jt]s\b|\bat /i,
  );

  const lines = () => logged().filter((line) => line.includes(requestId));
  await eventually(async () => lines().some((line) => line.includes('"msg":"request"')));
  const told = lines().find((line) => line.includes(`"msg":"${cause.code}"`));
  expect(told).toContain('"level":"warn"');
  expect(told).toMatch(cause.logged);
}
