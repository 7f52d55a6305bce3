import type { CustomFetch } from 'openid-client';
import { MalformedAnswerError } from './token-request.ts';
import type { SendTokenRequest } from './token-request.ts';

/** RFC 6749 §5.1 leaves the lifetime open; the service's documented default is 15 minutes. */
const DEFAULT_EXPIRES_IN_SECONDS = 900;

/**
 * The only place that knows how the service departs from RFC 6749 (contract, section 6): rewrites an answer of its
 * token endpoint into the one that openid-client expects. A missing `token_type` is `bearer`, a missing `expires_in`
 * 900 s, and an `error` string is that OAuth error at whatever status. Members that OAuth does not know are dropped.
 */
export function speakDialect(send: SendTokenRequest): CustomFetch {
  return async (url, options) => {
    const { status, text } = await send(url, options);
    const body = parseObject(text);
    if (typeof body?.['error'] === 'string' && body['error'] !== '') {
      const { error, error_description: description } = body;
      return json(400, { error, ...(typeof description === 'string' && { error_description: description }) });
    }
    if (status < 200 || status > 299) throw new MalformedAnswerError(`the token endpoint answered ${status}`);
    if (body === null) throw new MalformedAnswerError('the token endpoint answered no JSON object');
    return json(200, {
      access_token: body['access_token'],
      token_type: body['token_type'] || 'bearer',
      expires_in: toSeconds(body['expires_in']),
      refresh_token: body['refresh_token'] || undefined,
      // An empty one says nothing of what was granted.
      scope: (typeof body['scope'] === 'string' && body['scope']) || undefined,
    });
  };
}

/** What is no time counts as missing: tokens that may not come again are not thrown away for it. */
function toSeconds(expiresIn: unknown): number {
  const seconds = typeof expiresIn === 'string' && expiresIn !== '' ? Number(expiresIn) : expiresIn;
  const isTime = typeof seconds === 'number' && Number.isFinite(seconds) && seconds > 0;
  return isTime ? seconds : DEFAULT_EXPIRES_IN_SECONDS;
}

function json(status: number, body: object): Response {
  return Response.json(body, { status });
}

function parseObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : null;
  } catch {
    return null; // the parser's error quotes the text, which may hold a token
  }
}
