import type { Render } from '../../http/templates.ts';
import type { FaultFields, FaultProblem } from './fault-command.ts';
import type { ActiveFault } from './fault-store.ts';
import { KIND_WORDS, ROUTE_WORDS, toFaultWords } from './fault-words.ts';

/** A form that was not in order: what it was sent with, and why not. */
interface RefusedForm {
  readonly problems: readonly FaultProblem[];
  readonly fields: FaultFields;
}

/** The page of the faults that calls meet, with the form that sets one; `host` is where we are reached. */
export type FaultsPage = (host: string, active: readonly ActiveFault[], refused?: RefusedForm) => string;

/** What is wished for most often, with one click. The first is what the form begins with. */
const PRESETS: readonly { readonly label: string; readonly fields: FaultFields }[] = [
  {
    label: 'Next list fails (500)',
    fields: { route: 'workspaces', fault: 'status', status: '500', calls: '1' },
  },
  { label: 'Next list is cut off', fields: { route: 'workspaces', fault: 'cut', calls: '1' } },
  { label: 'Everything 2 s late', fields: { route: 'any', fault: 'latency', latencyMs: '2000' } },
  { label: 'Next call ends the session', fields: { route: 'any', fault: 'grant-revoked', calls: '1' } },
];

/** Name, label, placeholder. */
const NUMBERS = [
  ['calls', 'For how many calls', 'all, until cleared'],
  ['latencyMs', 'Late by, in ms', 'not late'],
] as const;
const OF_STATUS = [
  ['status', 'Status', '200 to 599'],
  ['contentType', 'Type', 'guessed from the body'],
] as const;
const OF_RATE_LIMIT = [['retryAfter', 'Try again after, in s', '1']] as const;

/** The page, as HTML. */
export function createFaultsPage(render: Render): FaultsPage {
  return (host, active, refused) => {
    const { problems, fields } = refused ?? { problems: [], fields: PRESETS[0]?.fields ?? {} };
    const wrong = new Set(problems.map(({ field }) => field));
    const toChoice = (name: string, label: string, words: Readonly<Record<string, string>>) => ({
      name,
      label,
      isWrong: wrong.has(name),
      options: Object.entries(words).map(([value, said]) => ({
        value,
        words: said,
        isChosen: fields[name] === value,
      })),
    });
    const toField = ([name, label, placeholder]: readonly [string, string, string]) => ({
      name,
      label,
      placeholder,
      value: fields[name] ?? '',
      inputMode: name === 'contentType' ? 'text' : 'numeric',
      isWrong: wrong.has(name),
    });

    return render('local-service/faults', {
      title: refused === undefined ? 'Faults' : 'Not set: Faults',
      wide: true,
      host,
      active: active.map(toFaultWords),
      presets: PRESETS,
      problems,
      choices: [toChoice('route', 'Where', ROUTE_WORDS), toChoice('fault', 'What', KIND_WORDS)],
      fields: NUMBERS.map(toField),
      statusFields: OF_STATUS.map(toField),
      body: fields['body'] ?? '',
      rateLimitFields: OF_RATE_LIMIT.map(toField),
    });
  };
}
