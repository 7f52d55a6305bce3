import { createHash } from 'node:crypto';
import OAuth2Server from '@node-oauth/oauth2-server';
import { sameSecret } from './secrets.ts';

const { InvalidGrantError } = OAuth2Server;

const CODE_VERIFIER = /^[A-Za-z0-9\-._~]{43,128}$/; // RFC 7636 §4.1

/**
 * Throws InvalidGrantError where the verifier is not the challenge's (RFC 7636 §4.6), or either comes without the other
 * (RFC 9700 §4.8.2). The library looks only when the code is spent: what is wrong with a request must not cost a code.
 */
export function requireVerifier(challenge: string | undefined, verifier: string | undefined): void {
  if (challenge === undefined) {
    if (verifier === undefined) return;
    throw new InvalidGrantError('The authorization request had no code_challenge: send no code_verifier.');
  }
  if (verifier === undefined) {
    throw new InvalidGrantError('code_verifier is missing: the authorization request had a code_challenge.');
  }
  if (!CODE_VERIFIER.test(verifier) || !sameSecret(toChallenge(verifier), challenge)) {
    throw new InvalidGrantError('code_verifier does not match the code_challenge.');
  }
}

function toChallenge(verifier: string): string {
  return createHash('sha256').update(verifier).digest('base64url');
}
