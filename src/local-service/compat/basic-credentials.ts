import OAuth2Server from '@node-oauth/oauth2-server';
import type { Request } from 'express';
import type { RegisteredClient } from '../oauth-model.ts';
import { sameSecret } from '../secrets.ts';

const { InvalidClientError, InvalidRequestError } = OAuth2Server;

/**
 * Moves the credentials of an `Authorization: Basic` header into the form. Throws InvalidClientError for any other
 * header, and InvalidRequestError where the form has others (RFC 6749 §2.3).
 */
export function moveCredentials(req: Request, form: URLSearchParams, registered: RegisteredClient): void {
  const header = req.get('authorization');
  if (header === undefined) return;
  const credentials = toCredentials(header, registered);
  if (credentials === undefined) {
    throw new InvalidClientError('The Authorization header is not HTTP Basic with an id and a secret.');
  }
  for (const [name, value] of [
    ['client_id', credentials.clientId],
    ['client_secret', credentials.clientSecret],
  ] as const) {
    const known = form.get(name);
    if (known && known !== value) {
      throw new InvalidRequestError(`The Authorization header and the body have another ${name} each.`);
    }
    if (!form.has(name)) form.append(name, value);
    else if (!known) form.set(name, value);
  }
  delete req.headers.authorization;
}

/**
 * What an HTTP Basic header says (RFC 7617 §2). RFC 6749 §2.3.1 wants id and secret encoded as in a form before; many
 * clients don't: whichever reading is the registered app's is the one.
 */
function toCredentials(header: string, registered: RegisteredClient): RegisteredClient | undefined {
  const encoded = /^Basic +(?<text>[A-Za-z0-9+/]+=*)$/i.exec(header)?.groups?.['text'];
  if (encoded === undefined) return undefined;
  const [, id, secret] = /^([^:]*):(.*)$/s.exec(Buffer.from(encoded, 'base64').toString()) ?? [];
  if (id === undefined || secret === undefined) return undefined;
  const asSent = { clientId: id, clientSecret: secret };
  return isSame(asSent, registered)
    ? asSent
    : { clientId: fromForm(id) ?? id, clientSecret: fromForm(secret) ?? secret };
}

function isSame(one: RegisteredClient, other: RegisteredClient): boolean {
  return sameSecret(one.clientId, other.clientId) && sameSecret(one.clientSecret, other.clientSecret);
}

/** Undefined where it isn't form-encoded. */
function fromForm(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}
