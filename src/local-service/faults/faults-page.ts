import type { Render } from '../../platform/templates.ts';
import { FAULT_KINDS, FAULT_TARGETS } from './fault.ts';
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

/** What is wished for most often, with one click. */
const PRESETS: readonly { readonly label: string; readonly fields: FaultFields }[] = [
  {
    label: 'Next list fails (500)',
    fields: { route: 'workspaces', fault: 'status', status: '500', calls: '1' },
  },
  { label: 'Next list is cut off', fields: { route: 'workspaces', fault: 'cut', calls: '1' } },
  { label: 'Everything 2 s late', fields: { route: 'any', fault: 'latency', latencyMs: '2000' } },
  { label: 'Next call ends the session', fields: { route: 'any', fault: 'grant-revoked', calls: '1' } },
];

/** The page, as HTML. */
export function createFaultsPage(render: Render): FaultsPage {
  return (host, active, refused) =>
    render('local-service/faults', {
      title: refused === undefined ? 'Faults' : 'Not set: Faults',
      wide: true,
      host,
      active: active.map(toFaultWords),
      presets: PRESETS,
      problems: refused?.problems ?? [],
      fields: refused?.fields ?? PRESETS[0]?.fields ?? {},
      routes: FAULT_TARGETS.map((route) => ({ route, words: ROUTE_WORDS[route] })),
      kinds: FAULT_KINDS.map((kind) => ({ kind, words: KIND_WORDS[kind] })),
    });
}
