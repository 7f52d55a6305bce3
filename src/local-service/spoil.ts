import type { Request, Response } from 'express';
import type { AccessTokens } from './access-tokens.ts';
import { sendApiError } from './api-errors.ts';
import { bearerTokenOf } from './bearer-token.ts';
import type { Fault } from './fault.ts';
import { beforeAnswer, cutAnswer, resetConnection } from './faulty-answer.ts';
import type { Grants } from './grants.ts';
import { expiredPageToken } from './page-token.ts';

/** What faults are made with. */
export interface SpoilingParts {
  readonly accessTokens: AccessTokens;
  readonly grants: Grants;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/**
 * Lets one call go wrong. Resolves to whether the endpoint still does its work; where it doesn't, the call has been
 * answered, or its connection reset. Rejects with StoreUnavailableError where Redis is away.
 */
export async function spoil(
  fault: Fault,
  req: Request,
  res: Response,
  parts: SpoilingParts,
): Promise<boolean> {
  switch (fault.kind) {
    case 'latency':
      return true;
    case 'status':
      sendStatus(res, fault.answer);
      return false;
    case 'rate-limit':
      sendRateLimit(res, fault.retryAfter, parts.now());
      return false;
    case 'reset-before':
      resetConnection(res);
      return false;
    case 'reset-after':
      beforeAnswer(res, () => resetConnection(res));
      return true;
    case 'cut':
      beforeAnswer(res, (body) => cutAnswer(res, body));
      return true;
    case 'access-token-revoked':
      await parts.accessTokens.revoke(bearerTokenOf(req) ?? '');
      return true;
    case 'grant-revoked':
      await revokeGrant(bearerTokenOf(req) ?? '', parts);
      return true;
    case 'next-expired':
      // Only what would have been a page: any other fault of the call is found before an expiry.
      beforeAnswer(res, (body) =>
        res.statusCode === 200 ? sendApiError(res, expiredPageToken()) : res.end(body),
      );
      return true;
  }
}

async function revokeGrant(token: string, { accessTokens, grants }: SpoilingParts): Promise<void> {
  const grantId = await accessTokens.grantOf(token);
  if (grantId !== undefined) await grants.revoke(grantId);
}

function sendStatus(
  res: Response,
  { status = 500, body, contentType }: Partial<NonNullable<Fault['answer']>> = {},
) {
  res.status(status);
  if (body === undefined) {
    res.json({ code: 'INTERNAL_SERVER_ERROR', message: 'A fault that was asked for', details: [] });
    return;
  }
  res.type(contentType ?? (isJson(body) ? 'application/json' : 'text/plain')).send(body);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** As the public service has it, with the `Retry-After` of RFC 6585 §4. */
function sendRateLimit(res: Response, retryAfter: number, now: number): void {
  res.status(429).set({
    'retry-after': String(retryAfter),
    'x-ratelimit-remaining': '0',
    'x-ratelimit-reset': String(Math.ceil(now / 1_000) + retryAfter),
  });
  res.json({ code: 'TOO_MANY_REQUESTS', message: `Try again in ${retryAfter} s`, details: [] });
}
