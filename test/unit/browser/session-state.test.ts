import { describe, expect, test } from '@jest/globals';
import { type LivingSession, toSession } from '../../../public/living-session.js';
import { atFirst, next, type SessionEvent, type State, type Step } from '../../../public/session-state.js';
import { HOUR_MS } from '../../support/constants.ts';

const NOW = 50 * HOUR_MS;
const OURS: LivingSession = {
  signedIn: true,
  name: 'ours',
  idleEndsAt: NOW + HOUR_MS,
  lastsUntil: NOW + 12 * HOUR_MS,
};
const ANOTHER: LivingSession = { ...OURS, name: 'another' };
const SIGNED_OUT = { signedIn: false } as const;

const answered = (answer: LivingSession | typeof SIGNED_OUT | null): SessionEvent => ({
  type: 'answer',
  answer,
});
const used = (name: string): SessionEvent => ({ type: 'heard', message: { kind: 'alive', name } });
const ELSEWHERE: SessionEvent = { type: 'heard', message: { kind: 'signing-out' } };

/** The last step of several events at one moment. */
function after(events: readonly SessionEvent[], { from = atFirst('ours'), at = NOW } = {}): Step {
  return events.reduce<Step>((step, event) => next(step.state, event, at), { state: from, effects: [] });
}

const living = (): State => after([answered(OURS)]).state;

describe('A page that has asked nothing yet', () => {
  test('asks again when the notice is due', () => {
    const { state, effects } = after([answered(OURS)]);
    expect(state.name).toBe('living');
    expect(effects).toContainEqual({ do: 'ring', at: OURS.idleEndsAt - 120_000 });
  });

  test('shows nothing under another session, however late the first answer comes', () => {
    const put = { do: 'putAway', panel: 'anotherSession' };
    expect(after([answered(ANOTHER)]).effects).toContainEqual(put);
    expect(after([answered(null), used('another'), answered(ANOTHER)]).effects).toContainEqual(put);
  });

  test('asks when it hears of its session in another tab', () => {
    expect(after([used('ours')]).effects).toEqual([{ do: 'ask' }]);
    expect(after([used('ours'), answered(OURS)]).state.name).toBe('living');
  });
});

describe('A living session', () => {
  test('is about to end in its last two minutes, and may stay', () => {
    const endsAt = NOW + 100_000;
    const { state, effects } = after([answered({ ...OURS, idleEndsAt: endsAt })], { from: living() });
    expect(state.name).toBe('ending');
    expect(effects).toContainEqual({ do: 'showEnding', endsAt, mayStay: true });
    expect(effects).toContainEqual({ do: 'ring', at: endsAt + 1_000 });
  });

  test('that ends by its age can’t be made to stay', () => {
    const endsAt = NOW + 100_000;
    const old = { ...OURS, idleEndsAt: endsAt, lastsUntil: endsAt };
    const { effects } = after([answered(old)], { from: living() });
    expect(effects).toContainEqual({ do: 'showEnding', endsAt, mayStay: false });
  });

  test('of a short idle time is about to end in the last third of it', () => {
    const short = { ...OURS, idleEndsAt: NOW + 30_000 };
    const { state, effects } = after([answered(short)]);
    expect([state.name, effects.at(-1)]).toEqual(['living', { do: 'ring', at: NOW + 20_000 }]);
    expect(after([answered(short)], { from: state, at: NOW + 20_000 }).state.name).toBe('ending');
  });

  test('that was used meanwhile is no longer about to end', () => {
    const ending = after([answered({ ...OURS, idleEndsAt: NOW + 100_000 })], { from: living() }).state;
    const { state, effects } = after([answered(OURS)], { from: ending });
    expect(state.name).toBe('living');
    expect(effects).toContainEqual({ do: 'hideEnding' });
  });

  test('is asked about again where no answer comes: ever more rarely, and nothing else changes', () => {
    const waits: unknown[] = [];
    let state = living();
    for (let nth = 0; nth < 6; nth += 1) {
      const step = after([answered(null)], { from: state });
      waits.push(...step.effects.map((effect) => effect.do === 'ring' && effect.at - NOW));
      state = step.state;
    }
    expect(waits).toEqual([5_000, 10_000, 20_000, 40_000, 60_000, 60_000]);
    expect(state.name).toBe('living');
    expect(after([answered(OURS)], { from: state }).state.failures).toBe(0);
  });

  test('hides the page while it is asked about, once it is over by all that is known', () => {
    expect(after([{ type: 'ask' }], { from: living(), at: OURS.idleEndsAt - 1 }).effects).toEqual([]);
    const past = after([{ type: 'ask' }], { from: living(), at: OURS.idleEndsAt });
    expect(past.effects).toEqual([{ do: 'conceal' }]);
    const longer = { ...OURS, idleEndsAt: OURS.idleEndsAt + HOUR_MS };
    expect(after([answered(longer)], { from: past.state, at: OURS.idleEndsAt }).effects).toContainEqual({
      do: 'reveal',
    });
  });

  test('used in another tab is news only near its end; another session always is', () => {
    expect(after([used('ours')], { from: living() }).effects).toEqual([]);
    const near = OURS.idleEndsAt - 200_000;
    expect(after([used('ours')], { from: living(), at: near }).effects).toEqual([{ do: 'ask' }]);
    expect(after([used('another')], { from: living() }).effects).toEqual([{ do: 'ask' }]);
  });
});

describe('a page is hidden', () => {
  const panelAfter = (events: readonly SessionEvent[], from = living()) =>
    after(events, { from }).effects.flatMap((effect) => (effect.do === 'putAway' ? [effect.panel] : []));

  test.each<[string, readonly SessionEvent[], string]>([
    ['as ended', [answered(SIGNED_OUT)], 'ended'],
    ['as signed out', [{ type: 'signing-out' }, answered(SIGNED_OUT)], 'signedOut'],
    ['as signed out in another tab', [ELSEWHERE, answered(SIGNED_OUT)], 'signedOutElsewhere'],
    ['as another session’s', [answered(ANOTHER)], 'anotherSession'],
  ])('%s', (_how, events, panel) => {
    expect(panelAfter(events)).toEqual([panel]);
  });

  test('as ended where a sign-out of long ago was never done', () => {
    const { state } = after([ELSEWHERE], { from: living(), at: NOW - 60_000 });
    expect(panelAfter([answered(SIGNED_OUT)], state)).toEqual(['ended']);
  });

  test('for a reason that stays what it was', () => {
    const over = after([ELSEWHERE, answered(SIGNED_OUT)], { from: living() }).state;
    const later = after([answered(SIGNED_OUT)], { from: over, at: NOW + HOUR_MS });
    expect(later.effects).toContainEqual({ do: 'putAway', panel: 'signedOutElsewhere' });
  });

  test('for good: whoever is signed in next is offered to load it again', () => {
    const over = after([answered(SIGNED_OUT)], { from: living() }).state;
    expect(over.name).toBe('over');
    expect(panelAfter([answered(ANOTHER)], over)).toEqual(['anotherSession']);
    expect(panelAfter([answered(OURS)], over)).toEqual(['anotherSession']);
  });

  test('never for a sign-out that is only said to be: it is asked first', () => {
    expect(panelAfter([ELSEWHERE])).toEqual([]);
    expect(panelAfter([ELSEWHERE, answered(OURS)])).toEqual([]);
  });
});

const SERVER_NOW = Date.UTC(2026, 0, 1, 12, 0, 0);
const BODY = {
  signedIn: true,
  expiresAt: '2026-01-01T23:00:00.000Z',
  idleExpiresAt: '2026-01-01T13:00:00.000Z',
};

describe('the moments of a session', () => {
  test.each([
    ['goes as the server’s', 0],
    ['is an hour ahead', HOUR_MS],
    ['is an hour behind', -HOUR_MS],
  ])('are by the browser’s clock where that %s', (_what, aheadMs) => {
    const now = SERVER_NOW + aheadMs;
    // A Date is cut to whole seconds: nobody is promised the second that may be over.
    expect(toSession(BODY, SERVER_NOW, now)).toEqual({
      signedIn: true,
      name: BODY.expiresAt,
      idleEndsAt: now + HOUR_MS - 1_000,
      lastsUntil: now + 11 * HOUR_MS - 1_000,
    });
  });

  test('are taken as they are where the answer has no Date', () => {
    expect(toSession(BODY, NaN, SERVER_NOW + 5 * HOUR_MS)).toMatchObject({
      idleEndsAt: SERVER_NOW + HOUR_MS,
      lastsUntil: SERVER_NOW + 11 * HOUR_MS,
    });
  });
});

test('Who is signed out is, whatever else is said', () => {
  expect(toSession({ signedIn: false, expiresAt: 1 }, NaN, 0)).toEqual({ signedIn: false });
});

test.each([
  [null],
  ['signed in'],
  [{}],
  [{ signedIn: 'true' }],
  [{ signedIn: true }],
  [{ ...BODY, expiresAt: 1_767_300_000_000 }],
  [{ ...BODY, idleExpiresAt: 'soon' }],
])('%j says nothing of the session', (body) => {
  expect(toSession(body, SERVER_NOW, SERVER_NOW)).toBeNull();
});
