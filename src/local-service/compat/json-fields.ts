import OAuth2Server from '@node-oauth/oauth2-server';
import { TOKEN_FIELDS } from '../token-request.ts';

const { InvalidRequestError } = OAuth2Server;

/**
 * The fields of a token request that came as JSON, null being as good as absent; undefined where there was none.
 * Throws InvalidRequestError for what is no object, or a field that is no string.
 */
export function toFieldsOfJson(body: unknown): URLSearchParams | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  if (Array.isArray(body)) throw new InvalidRequestError('A JSON body must be an object.');
  const form = new URLSearchParams();
  for (const [name, value] of Object.entries(body)) {
    if (!isTokenField(name) || value === null) continue;
    if (typeof value !== 'string') throw new InvalidRequestError(`${name} must be a string.`);
    form.append(name, value);
  }
  return form;
}

function isTokenField(name: string): boolean {
  return TOKEN_FIELDS.some((field) => field === name);
}
