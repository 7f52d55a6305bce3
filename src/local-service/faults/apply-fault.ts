import type { Request, Response } from 'express';
import { sendApiError } from '../error-responses.ts';
import { bearerTokenOf } from '../bearer-token.ts';
import { toFormFields } from '../form-body.ts';
import type { OAuthStore } from '../oauth-model.ts';
import { expiredPageToken } from '../page-token.ts';
import type { Fault } from './fault.ts';
import { cutAnswer, replaceAnswer, resetConnection } from './replaced-answer.ts';
import { ServiceError } from '../service-errors.ts';

/** What faults are made with. */
export interface FaultParts extends OAuthStore {
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/**
 * Lets one call go wrong, its latency aside. Resolves to whether the endpoint still does its work; where it doesn't,
 * the call has been answered, or its connection reset. Rejects with StoreUnavailableError where Redis is away.
 */
export async function applyFault(
  fault: Fault,
  req: Request,
  res: Response,
  parts: FaultParts,
): Promise<boolean> {
  switch (fault.kind) {
    case 'latency':
      return true;
    case 'status':
      sendStatus(res, fault);
      return false;
    case 'rate-limit':
      sendApiError(res, toRateLimit(fault.retryAfter, parts.now()));
      return false;
    case 'reset-before':
      resetConnection(res);
      return false;
    case 'reset-after':
      replaceAnswer(res, () => resetConnection(res));
      return true;
    case 'cut':
      replaceAnswer(res, (body) => cutAnswer(res, body));
      return true;
    case 'access-token-revoked':
      await parts.accessTokens.revoke(bearerTokenOf(req) ?? '');
      return true;
    case 'grant-revoked':
      await parts.grants.revoke((await findGrant(req, parts)) ?? '');
      return true;
    case 'next-expired':
      // Only what would have been a page: whatever else is wrong with the call is found before an expiry.
      replaceAnswer(res, (body) => {
        if (res.statusCode === 200) sendApiError(res, expiredPageToken());
        else res.end(body);
      });
      return true;
  }
}

/** The id of the grant behind a call's access token or, at the token endpoint, its refresh token or code. */
export async function findGrant(
  req: Request,
  { accessTokens, refreshTokens, codes }: FaultParts,
): Promise<string | undefined> {
  const form = toFormFields(req.body);
  return (
    (await accessTokens.grantOf(bearerTokenOf(req) ?? '')) ??
    (await refreshTokens.find(form?.get('refresh_token') ?? '')) ??
    (await codes.find(form?.get('code') ?? ''))?.grantId
  );
}

function sendStatus(res: Response, fault: Fault & { readonly kind: 'status' }): void {
  const { status, body, contentType } = fault;
  if (body === undefined) {
    sendApiError(res, new ServiceError(status, toCode(status), 'A fault that was asked for'));
    return;
  }
  // As bytes: for text Express would put a charset of its own into the type.
  res.status(status).type(contentType ?? (isJson(body) ? 'application/json' : 'text/plain; charset=utf-8'));
  res.send(Buffer.from(body));
}

/** What the API says at such a status. */
function toCode(status: number): string {
  if (status >= 500) return 'INTERNAL_SERVER_ERROR';
  return { 401: 'UNAUTHORIZED', 403: 'INVALID_SCOPE', 404: 'PATH_NOT_FOUND' }[status] ?? 'REQUEST_INVALID';
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
function toRateLimit(retryAfter: number, now: number): ServiceError {
  return new ServiceError(429, 'TOO_MANY_REQUESTS', `Try again in ${retryAfter} s`, {
    headers: {
      'retry-after': String(retryAfter),
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset': String(Math.ceil(now / 1_000) + retryAfter),
    },
  });
}
