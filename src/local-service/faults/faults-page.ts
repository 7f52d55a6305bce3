import type { Render } from '../../platform/templates.ts';
import { FAULT_KINDS, FAULT_TARGETS } from './fault.ts';
import type { FaultFields } from './fault.ts';
import type { ActiveFault } from './fault-store.ts';
import { KIND_WORDS, ROUTE_WORDS, toFaultWords } from './fault-words.ts';

/** A form that was not in order: what it was sent with, and why not. */
interface RefusedForm {
  readonly problems: readonly string[];
  readonly fields: FaultFields;
}

/** The page of the faults that calls meet, with the form that sets one; `host` is where we are reached. */
export type FaultsPage = (host: string, active: readonly ActiveFault[], refused?: RefusedForm) => string;

/** The page, as HTML. */
export function createFaultsPage(render: Render): FaultsPage {
  return (host, active, refused) =>
    render('local-service/faults', {
      title: 'Faults',
      wide: true,
      host,
      active: active.map(toFaultWords),
      problems: refused?.problems ?? [],
      fields: refused?.fields ?? {},
      routes: FAULT_TARGETS.map((route) => ({ route, words: ROUTE_WORDS[route] })),
      kinds: FAULT_KINDS.map((kind) => ({ kind, words: KIND_WORDS[kind] })),
    });
}
