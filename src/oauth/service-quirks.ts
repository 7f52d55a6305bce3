/** RFC 6749 §5.1 makes `expires_in` optional; the service documents 15 minutes as its default. */
const DEFAULT_EXPIRES_IN_SECONDS = 900;

/** An unmodified response from the token endpoint. */
export interface TokenResponse {
  readonly status: number;
  readonly text: string;
}

/**
 * Rewrites a response from the service's token endpoint into the form that RFC 6749 §5.1 and §5.2 define. Only this function
 * knows how the service deviates from the standard:
 *
 * - A missing `token_type` defaults to `bearer`, and a missing `expires_in` to 900 s.
 * - A response with an `error` string is an OAuth error, whatever its status.
 *
 * Other members are dropped. Throws if the response is neither a success nor an OAuth error. Messages never quote the response.
 */
export function toStandardResponse({ status, text }: TokenResponse): Response {
  const body = parseObject(text);
  if (typeof body?.['error'] === 'string' && body['error'] !== '') {
    const { error, error_description: description } = body;
    const isText = typeof description === 'string';
    return Response.json({ error, ...(isText && { error_description: description }) }, { status: 400 });
  }
  if (status < 200 || status > 299) throw new Error(`the token endpoint responded with status ${status}`);
  if (body === null) throw new Error('the token endpoint responded with no JSON object');
  return Response.json({
    access_token: body['access_token'],
    token_type: body['token_type'] || 'bearer',
    expires_in: toSeconds(body['expires_in']),
    refresh_token: body['refresh_token'] || undefined,
    // An empty scope doesn't say what was granted.
    scope: (typeof body['scope'] === 'string' && body['scope']) || undefined,
  });
}

/** Returns a lifetime in seconds. Treats an invalid lifetime as missing, because refusing the response could lose the tokens. */
function toSeconds(expiresIn: unknown): number {
  const seconds = typeof expiresIn === 'string' && expiresIn !== '' ? Number(expiresIn) : expiresIn;
  const isValid = typeof seconds === 'number' && Number.isFinite(seconds) && seconds > 0;
  return isValid ? seconds : DEFAULT_EXPIRES_IN_SECONDS;
}

function parseObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : null;
  } catch {
    return null; // the parser error quotes the text, which may contain a token
  }
}
