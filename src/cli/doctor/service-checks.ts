import { Failure } from './network-errors.ts';
import { ok, problem, skipped, warning } from './finding.ts';
import type { Verdict } from './finding.ts';
import type { Answer } from './service/ask.ts';
import { STRANGE_URI } from './service/questions.ts';
import type { Answers } from './service/questions.ts';

const UNTOLD = 'CLIENT_ID, SCOPES and PUBLIC_URL must be right first.';

/** Whether a browser that is sent there can begin to sign in. */
export function judgeSignIn({ signIn: answer }: Answers, redirectUri: string | undefined): Verdict {
  if (answer === null || redirectUri === undefined) return skipped(UNTOLD);
  if (answer instanceof Failure) return problem(`It ${answer.what}.`, answer.remedy);
  if (answer.status === 429) return warning('It takes no more requests for now (429).', 'Try again later.');
  if (answer.status >= 500) {
    return problem(`It is out of order: it answers ${answer.status}.`, 'Ask those who run the service.');
  }
  if ([404, 405, 410].includes(answer.status)) {
    return problem(
      `It answers ${answer.status}: there is no authorization endpoint of the service at this address.`,
      'Check SERVICE_URL: the origin of the service itself.',
    );
  }
  const error = sentBackTo(answer, redirectUri)?.get('error');
  if (error === undefined || error === null) return ok(`Answers what it is asked (${answer.status}).`);
  if (error === 'invalid_scope') {
    return problem(
      'The service refuses the SCOPES: the app may not ask for one of them, or it does not exist. Nobody can sign in.',
      'Compare SCOPES with those that the app is registered with; upper and lower case count.',
    );
  }
  return problem(
    'The service sends every sign-in back with an error.',
    'Compare CLIENT_ID and SCOPES with the app as it is registered.',
  );
}

/** By what the service says to ours, and to one that nobody has registered. */
export function judgeRedirectUri(answers: Answers, redirectUri: string | undefined): Verdict {
  const { signIn, strangersSignIn } = answers;
  if (redirectUri === undefined || signIn === null || strangersSignIn === null) return skipped(UNTOLD);
  const remedy = `Register exactly this at the service: ${redirectUri}`;
  if (signIn instanceof Failure || strangersSignIn instanceof Failure) {
    return skipped('The authorization endpoint can’t be asked.', remedy);
  }
  if (sentBackTo(strangersSignIn, STRANGE_URI) !== undefined) {
    return warning(
      'The service sends browsers back to any address at all.',
      'Tell those who run it; RFC 9700 forbids it.',
    );
  }
  if (sentBackTo(signIn, redirectUri) !== undefined) return ok(`The service takes ${redirectUri}`);
  if (isRefused(signIn) && isRefused(strangersSignIn)) {
    return problem(
      `The service refuses ${redirectUri}, as it does one that nobody knows: nobody can sign in.`,
      `${remedy} – and check CLIENT_ID, for which it might refuse it, too.`,
    );
  }
  if (signIn.status < 400 && isRefused(strangersSignIn)) return ok(`The service takes ${redirectUri}`);
  return skipped('Can’t be told: the service does not say before somebody signs in.', remedy);
}

function isRefused({ status }: Answer): boolean {
  return status === 400 || status === 422;
}

/** The query with which an answer sends the browser back; undefined where it doesn't. */
function sentBackTo({ status, headers }: Answer, redirectUri: string): URLSearchParams | undefined {
  const location = headers.get('location') ?? '';
  const isBack = status >= 300 && status < 400 && location.startsWith(`${redirectUri}?`);
  return isBack ? new URLSearchParams(location.slice(redirectUri.length)) : undefined;
}
