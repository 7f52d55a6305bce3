import { isLoopback } from '../../config/schema.ts';
import { serviceChecks } from './checks.ts';
import type { ServiceCheck } from './checks.ts';
import { aheadBy, aheadInWords } from './clock.ts';
import { Failure } from './network-errors.ts';
import type { Settings } from './settings.ts';
import { ok, problem, skipped, verdictForAll, warning } from './finding.ts';
import type { Verdict } from './finding.ts';
import type { Answer } from './service/ask.ts';
import { judgeRedirectUri, judgeSignIn } from './service-checks.ts';
import { judgeCredentials, judgeTokenEndpoint } from './service/judge-token-endpoint.ts';
import { requireName } from './names.ts';
import { askService } from './service/questions.ts';
import type { Answers } from './service/questions.ts';

/** A `Date` header tells whole seconds (RFC 9110 §6.6.1). */
const DATE_EXACT_TO_MS = 1_000;
const CLOCK_OFF_MS = 5_000;
const CLOCK_WRONG_MS = 60_000;

/** The service: whether it is there, and whether it knows us. `now` is in ms since the epoch. */
export async function checkService(
  { values, publicOrigin }: Settings,
  now: () => number,
): Promise<Record<ServiceCheck, Verdict>> {
  const { SERVICE_URL: origin } = values;
  if (origin === undefined) {
    return verdictForAll(serviceChecks, skipped('SERVICE_URL must be right first.'));
  }
  const nameless = await failureOfName(origin);
  if (nameless !== undefined) return unreachable(origin, nameless);
  const redirectUri = publicOrigin === undefined ? undefined : `${publicOrigin}/auth/callback`;
  const answers = await askService(
    {
      serviceOrigin: origin,
      clientId: values.CLIENT_ID,
      clientSecret: values.CLIENT_SECRET,
      scopes: values.SCOPES,
      redirectUri,
    },
    now,
  );
  const failure = failureOfAll(answers);
  if (failure !== undefined) return unreachable(origin, failure);
  return {
    'service-encryption': judgeEncryption(origin),
    'service-reachable': ok(`Answers at ${origin}.`),
    'service-token-endpoint': judgeTokenEndpoint(answers),
    'service-credentials': judgeCredentials(answers),
    'service-sign-in': judgeSignIn(answers, redirectUri),
    'service-redirect-uri': judgeRedirectUri(answers, redirectUri),
    'service-clock': judgeClock(answers),
  };
}

async function failureOfName(origin: string): Promise<Failure | undefined> {
  try {
    await requireName(new URL(origin).hostname);
    return undefined;
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
}

function unreachable(origin: string, { what, remedy }: Failure): Record<ServiceCheck, Verdict> {
  return {
    ...verdictForAll(serviceChecks, skipped('The service can’t be asked.')),
    'service-encryption': judgeEncryption(origin),
    'service-reachable': problem(`${origin} ${what}.`, remedy),
  };
}

/** Where nothing at all came back, one reason is enough. */
function failureOfAll(answers: Answers): Failure | undefined {
  const all = Object.values<Answer | Failure | null>({ ...answers }).filter((each) => each !== null);
  return all.every((each) => each instanceof Failure) ? all[0] : undefined;
}

function judgeEncryption(origin: string): Verdict {
  if (origin.startsWith('https:')) return ok('https');
  if (isLoopback(origin)) return ok('None, on this machine.');
  return warning(
    'ALLOW_INSECURE_SERVICE: tokens and the client secret can be read on the way to the service.',
    'Use https in SERVICE_URL wherever the service has it.',
  );
}

/** By the token endpoint, whose answers nobody in between may keep: another one's `Date` could be old. */
function judgeClock({ renewal, strangersRenewal }: Answers): Verdict {
  const aheads = [renewal, strangersRenewal].flatMap((answer) => {
    if (answer === null || answer instanceof Failure) return [];
    const theirs = Date.parse(answer.headers.get('date') ?? '');
    return Number.isNaN(theirs) ? [] : [aheadBy({ ...answer, theirs, exactToMs: DATE_EXACT_TO_MS })];
  });
  const [ahead] = aheads.toSorted((a, b) => Math.abs(a) - Math.abs(b));
  if (ahead === undefined) return skipped('The service does not tell its time.');
  if (Math.abs(ahead) <= CLOCK_OFF_MS) return ok('As ours.');
  const judge = Math.abs(ahead) > CLOCK_WRONG_MS ? problem : warning;
  return judge(
    `Ours is ${aheadInWords(ahead)} that of the service. Certificates, the age of sessions and times in logs are judged by it.`,
    'Let this machine keep its time by NTP.',
  );
}
