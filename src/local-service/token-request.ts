import OAuth2Server from '@node-oauth/oauth2-server';
import type { Request } from 'express';
import { toFormFields } from './form-body.ts';
import { repeatedName } from './request-parameters.ts';

const { InvalidClientError, InvalidRequestError } = OAuth2Server;

/** The fields of a token request that mean something here; any other is ignored (RFC 6749 §3.2). */
export const TOKEN_FIELDS = [
  'client_id',
  'client_secret',
  'grant_type',
  'redirect_uri',
  'code',
  'code_verifier',
  'refresh_token',
] as const;

/** The fields that were sent with a value: one without is as good as absent (RFC 6749 §3.2). */
export type TokenRequest = Readonly<Partial<Record<(typeof TOKEN_FIELDS)[number], string>>>;

/**
 * What every token request must be, whatever its grant: a form, its credentials in the body, no field twice.
 * Throws InvalidRequestError or InvalidClientError.
 */
export function toTokenRequest(req: Request): TokenRequest {
  const form = toFormFields(req.body);
  if (form === undefined) {
    throw new InvalidRequestError('The body must be of type application/x-www-form-urlencoded.');
  }
  if (req.get('authorization') !== undefined) {
    throw new InvalidClientError('Send client_id and client_secret in the body; no other way is supported.');
  }
  const twice = repeatedName(form);
  if (twice !== undefined) throw new InvalidRequestError('A parameter is repeated.');

  const request: { -readonly [Field in keyof TokenRequest]: string } = {};
  for (const field of TOKEN_FIELDS) {
    const value = form.get(field);
    if (value) request[field] = value;
  }
  if (!isVisible(request.client_id) || !isVisible(request.client_secret)) {
    throw new InvalidClientError('client_id and client_secret must both be in the body.');
  }
  return request;
}

/** VSCHAR (RFC 6749 appendix A): what the client's id and secret are made of. */
function isVisible(text: string | undefined): boolean {
  return text !== undefined && /^[\x20-\x7e]+$/.test(text);
}
