import { createHash, randomBytes } from 'node:crypto';
import { AUTHORIZATION_PATH } from '../../../upstream/service-paths.ts';
import { Failure } from '../network-errors.ts';
import { ask } from './ask.ts';
import type { Answer } from './ask.ts';

/** What is to be known of an app that is registered. */
export interface App {
  readonly serviceOrigin: string;
  readonly clientId: string | undefined;
  readonly clientSecret: string | undefined;
  readonly scopes: string | undefined;
  /** Where the service sends the browser back to. */
  readonly redirectUri: string | undefined;
}

type Asked = Promise<Answer | Failure>;

/** Answers to our own question and to the same one of somebody whom no service knows: by both it can be judged. */
export interface Answers {
  /** A renewal with a refresh token that never was. Null where it could not be asked. */
  readonly renewal: Answer | Failure | null;
  readonly strangersRenewal: Answer | Failure;
  /** The address where a sign-in begins. Null where it could not be asked. */
  readonly signIn: Answer | Failure | null;
  readonly strangersSignIn: Answer | Failure | null;
}

/**
 * Asks all at once what changes nothing at the service: nobody signs in, nothing is issued. The stranger has an id of its
 * own, so that no failed attempt counts against the app. `now` is in ms since the epoch.
 */
export async function askService(app: App, now: () => number): Promise<Answers> {
  const { serviceOrigin, clientId, clientSecret, scopes, redirectUri } = app;
  const renew = async (id: string, secret: string): Asked =>
    orFailure(
      ask(`${serviceOrigin}${AUTHORIZATION_PATH}/token`, now, {
        grant_type: 'refresh_token',
        refresh_token: secretOfNobody(),
        client_id: id,
        client_secret: secret,
      }),
    );
  const begin = async (id: string, uri: string, scope: string): Asked =>
    orFailure(ask(`${serviceOrigin}${AUTHORIZATION_PATH}/?${toQuery(id, uri, scope)}`, now));
  const canSignIn = clientId !== undefined && redirectUri !== undefined && scopes !== undefined;

  const [renewal, strangersRenewal, signIn, strangersSignIn] = await Promise.all([
    clientId !== undefined && clientSecret !== undefined ? renew(clientId, clientSecret) : null,
    renew(`cloakroom-doctor-${secretOfNobody()}`, secretOfNobody()),
    canSignIn ? begin(clientId, redirectUri, scopes) : null,
    canSignIn ? begin(clientId, STRANGE_URI, scopes) : null,
  ]);
  return { renewal, strangersRenewal, signIn, strangersSignIn };
}

/** Nobody has it registered: the name belongs to no one (RFC 6761 §6.4). */
export const STRANGE_URI = 'https://cloakroom-doctor.invalid/auth/callback';

async function orFailure(asked: Promise<Answer>): Asked {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
}

/** As a sign-in of ours has it (interface 4.1, RFC 7636 §4.3), with a challenge whose verifier nobody has. */
function toQuery(clientId: string, redirectUri: string, scope: string): string {
  return new URLSearchParams({
    client_id: clientId,
    redirect_uri: redirectUri,
    scope,
    state: secretOfNobody(),
    response_type: 'code',
    code_challenge: createHash('sha256').update(secretOfNobody()).digest('base64url'),
    code_challenge_method: 'S256',
  }).toString();
}

function secretOfNobody(): string {
  return randomBytes(24).toString('base64url');
}
