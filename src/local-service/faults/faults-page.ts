import type { Render } from '../../http/templates.ts';
import type { FaultFields, FaultKind, FaultProblem, FaultTarget } from './fault.ts';
import type { ActiveFault } from './fault-store.ts';

/** A refused form: its fields as sent, and the problems. */
interface RefusedForm {
  readonly problems: readonly FaultProblem[];
  readonly fields: FaultFields;
}

/** Renders the active faults and the form for setting one. `host` is the address used in the examples. */
export type FaultsPage = (host: string, active: readonly ActiveFault[], refused?: RefusedForm) => string;

const ROUTE_LABELS: Readonly<Record<FaultTarget, string>> = {
  authorization: 'Sign-in and consent pages',
  token: 'Token endpoint',
  workspaces: 'List of workspaces',
  workspace: 'One workspace',
  rooms: 'Rooms in a workspace',
  murals: 'Murals in a workspace',
  any: 'Every route without its own fault',
};

const KIND_LABELS: Readonly<Record<FaultKind, string>> = {
  latency: 'Delay only',
  status: 'Custom status',
  'rate-limit': '429, rate limit reached',
  'reset-before': 'Connection reset before processing',
  'reset-after': 'Connection reset after processing',
  cut: 'Response cut off in the middle',
  'access-token-revoked': 'Access token revoked permanently',
  'grant-revoked': 'All tokens for the session revoked permanently',
  'next-expired': 'Cursor (next) expired',
};

/** The most common faults, each with a button. The form initially contains the fields of the first fault. */
const PRESETS: readonly { readonly label: string; readonly fields: FaultFields }[] = [
  {
    label: 'Next list request fails (500)',
    fields: { route: 'workspaces', fault: 'status', status: '500', calls: '1' },
  },
  { label: 'Next list response is cut off', fields: { route: 'workspaces', fault: 'cut', calls: '1' } },
  { label: 'Delay every request by 2 s', fields: { route: 'any', fault: 'latency', latencyMs: '2000' } },
  { label: 'Next request ends the session', fields: { route: 'any', fault: 'grant-revoked', calls: '1' } },
];

type FieldRow = readonly [name: string, label: string, placeholder: string];

const COMMON_FIELDS: readonly FieldRow[] = [
  ['calls', 'Number of requests', 'all, until cleared'],
  ['latencyMs', 'Delay (ms)', 'no delay'],
];
const STATUS_FIELDS: readonly FieldRow[] = [
  ['status', 'Status', '200 to 599'],
  ['contentType', 'Content type', 'detected from the body'],
];
const RATE_LIMIT_FIELDS: readonly FieldRow[] = [['retryAfter', 'Retry after (s)', '1']];

const BODY_EXCERPT = 80;

export function createFaultsPage(render: Render): FaultsPage {
  return (host, active, refused) => {
    const { problems, fields } = refused ?? { problems: [], fields: PRESETS[0]?.fields ?? {} };
    const wrong = new Set(problems.map(({ field }) => field));
    const toChoice = (name: string, label: string, labels: Readonly<Record<string, string>>) => ({
      name,
      label,
      isWrong: wrong.has(name),
      options: Object.entries(labels).map(([value, words]) => ({
        value,
        words,
        isChosen: fields[name] === value,
      })),
    });
    const toField = ([name, label, placeholder]: FieldRow) => ({
      name,
      label,
      placeholder,
      value: fields[name] ?? '',
      inputMode: name === 'contentType' ? 'text' : 'numeric',
      isWrong: wrong.has(name),
    });

    return render('local-service/faults', {
      title: refused === undefined ? 'Faults' : 'Error: Faults',
      wide: true,
      host,
      active: active.map(describeFault),
      presets: PRESETS,
      problems,
      choices: [toChoice('route', 'Route', ROUTE_LABELS), toChoice('fault', 'Fault', KIND_LABELS)],
      fields: COMMON_FIELDS.map(toField),
      statusFields: STATUS_FIELDS.map(toField),
      body: fields['body'] ?? '',
      rateLimitFields: RATE_LIMIT_FIELDS.map(toField),
    });
  };
}

function describeFault({ fault, callsLeft }: ActiveFault) {
  const details = [
    ...(fault.kind === 'status' ? [String(fault.status)] : []),
    ...(fault.kind === 'status' && fault.contentType !== undefined ? [fault.contentType] : []),
    ...(fault.kind === 'rate-limit' ? [`Retry-After ${fault.retryAfter} s`] : []),
    ...(fault.latencyMs > 0 ? [`after ${fault.latencyMs} ms`] : []),
  ];
  const left = callsLeft?.toLocaleString('en');
  return {
    route: fault.route,
    where: ROUTE_LABELS[fault.route],
    what: [KIND_LABELS[fault.kind], ...details].join(', '),
    ...(fault.kind === 'status' && fault.body !== undefined && { body: excerptOf(fault.body) }),
    until: left === undefined ? 'until cleared' : `${left} more ${callsLeft === 1 ? 'request' : 'requests'}`,
  };
}

function excerptOf(body: string): string {
  return body.length > BODY_EXCERPT ? `${body.slice(0, BODY_EXCERPT)}…` : body;
}
