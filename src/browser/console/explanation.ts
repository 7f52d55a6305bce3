/** Explains what the gateway did with a request, based on the response. */
import { formatDuration } from '../countdown.ts';
import { ADVICE } from '../../console/problem-advice.ts';
import { toRequestTiming, type RequestTiming } from './server-timing.ts';

/** A problem (RFC 9457) from the gateway. Missing members are empty strings. */
interface Problem {
  readonly code: string;
  readonly title: string;
  readonly detail: string;
  readonly requestId: string;
  /** Advice for the developer; empty for an unknown code. */
  readonly advice: string;
  readonly needsSignIn: boolean;
}

export interface Explanation {
  /** The sender. */
  readonly by: 'service' | 'gateway' | 'other';
  readonly sentences: readonly string[];
  readonly timing: RequestTiming | null;
  readonly problem: Problem | null;
}

const SIGN_IN_CODES = new Set(['sign_in_required', 'session_expired']);

/** @param json The value of a JSON body. */
export function explain(
  { status, headers }: { status: number; headers: Headers },
  json: unknown,
): Explanation {
  const timing = toRequestTiming(headers.get('server-timing'));
  const problem = toProblem(headers, json);
  const by = isFromService(headers) ? 'service' : problem === null ? 'other' : 'gateway';
  const sentences = [
    ...senderSentences(by),
    ...tokenSentences(timing, by, status),
    ...pauseSentences(headers),
  ];
  return { by, sentences, timing, problem: by === 'gateway' ? problem : null };
}

/** Returns whether the service sent the response. The gateway adds itself to `Via` only in responses from the service. */
function isFromService(headers: Headers) {
  return /(?:^|,)\s*1\.1 cloakroom\s*(?:,|$)/.test(headers.get('via') ?? '');
}

function toProblem(headers: Headers, json: unknown): Problem | null {
  const type = headers.get('content-type')?.split(';', 1)[0]?.trim().toLowerCase();
  if (type !== 'application/problem+json' || typeof json !== 'object' || json === null) return null;
  const member = (name: string) => {
    const value = Object.hasOwn(json, name) ? (json as Record<string, unknown>)[name] : '';
    return typeof value === 'string' ? value : '';
  };
  const code = member('code');
  return {
    code,
    title: member('title'),
    detail: member('detail'),
    requestId: member('requestId'),
    advice: Object.hasOwn(ADVICE, code) ? (ADVICE[code] ?? '') : '',
    needsSignIn: SIGN_IN_CODES.has(code),
  };
}

function senderSentences(by: Explanation['by']) {
  if (by === 'service') return ['The service sent this response (Via: 1.1 cloakroom).'];
  if (by === 'gateway') return ['The gateway sent this response (no Via header).'];
  return [
    'A server between the browser and the gateway sent this response. The response has no Via header from the gateway, and its body is not a gateway error.',
  ];
}

function tokenSentences(timing: RequestTiming | null, by: Explanation['by'], status: number) {
  if (timing === null) return [];
  const refreshed = timing.token.desc === 'refreshed';
  const replayed = timing.service.desc === 'replayed';
  if (replayed && by === 'service' && status === 401)
    return [
      'The service rejected the access token, so the gateway refreshed it and repeated the request once. The service rejected the new token too, so an expired token is not the cause.',
    ];
  if (replayed)
    return [
      'The service rejected the access token with 401, so the gateway refreshed it and repeated the request once.',
    ];
  if (refreshed && by === 'service' && status === 401)
    return [
      'The gateway refreshed the access token but did not repeat the request, and the service responded with 401. If the request body is over 64 KiB, send the request again. Otherwise, the service refused the new token.',
    ];
  if (refreshed)
    return ['The access token had expired, so the gateway refreshed it before it sent the request.'];
  if (by !== 'service') return [];
  return status === 401
    ? [
        'The service rejected the access token with 401. The token was less than 30 seconds old, so the gateway did not refresh it. Try again in 30 seconds.',
      ]
    : ['The access token was valid. The gateway did not refresh it or repeat the request.'];
}

function pauseSentences(headers: Headers) {
  const after = headers.get('retry-after');
  if (after === null) return [];
  return [
    /^\d+$/.test(after)
      ? `Wait ${formatDuration(Number(after))} before you try again (Retry-After).`
      : `Try again after ${after} (Retry-After).`,
  ];
}
