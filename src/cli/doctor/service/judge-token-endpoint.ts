import { Failure } from '../network-errors.ts';
import { ok, problem, skipped, warning } from '../finding.ts';
import type { Verdict } from '../finding.ts';
import type { Answer } from './ask.ts';
import type { Answers } from './questions.ts';

/** The OAuth error in an answer, whatever its status (RFC 6749 §5.2); undefined where there is none. */
function errorIn(answer: Answer): string | undefined {
  try {
    const body: unknown = JSON.parse(answer.text);
    const { error } = (typeof body === 'object' && body !== null ? body : {}) as { error?: unknown };
    return typeof error === 'string' && error !== '' ? error : undefined;
  } catch {
    return undefined;
  }
}

/** Whether it works: who asks for nonsense must get an OAuth error. */
export function judgeTokenEndpoint({ strangersRenewal: answer }: Answers): Verdict {
  if (answer instanceof Failure) return problem(`It ${answer.what}.`, answer.remedy);
  if (errorIn(answer) !== undefined) return ok('Answers what it is asked.');
  if (answer.status === 429) return warning('It takes no more requests for now (429).', 'Try again later.');
  if (answer.status >= 500) {
    return problem(`It is out of order: it answers ${answer.status}.`, 'Ask those who run the service.');
  }
  return problem(
    `It answers ${answer.status} without an OAuth error: there is no token endpoint of the service at this address.`,
    'Check SERVICE_URL: the origin of the service itself, and nothing that stands in between.',
  );
}

/** By a renewal that must fail: how it does, tells whether the app was known. */
export function judgeCredentials({ renewal, strangersRenewal }: Answers): Verdict {
  if (renewal === null) return skipped('CLIENT_ID and CLIENT_SECRET must be right first.');
  if (renewal instanceof Failure) return skipped('The token endpoint can’t be asked.');
  const error = errorIn(renewal);
  if (error === 'invalid_client') {
    return problem(
      'The service does not know the app, or refuses its secret: sign-ins fail, and no token is renewed.',
      'Compare both with the app as it is registered at the service; look for blanks, and for a secret that was replaced.',
    );
  }
  if (error === 'unauthorized_client' || error === 'unsupported_grant_type') {
    return problem(
      'The service gives the app no new tokens (refresh_token): everybody is signed out when the first one expires.',
      'Allow the app refresh tokens where it is registered.',
    );
  }
  if (error !== 'invalid_grant') {
    return skipped('Can’t be told by what the service answers. A sign-in will tell.');
  }
  const knowsAppsFirst =
    !(strangersRenewal instanceof Failure) && errorIn(strangersRenewal) === 'invalid_client';
  return knowsAppsFirst
    ? ok('The service knows the app and its secret.')
    : skipped('Can’t be told: the service says the same to an app that it does not know.');
}
