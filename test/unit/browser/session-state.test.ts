import { describe, expect, test } from '@jest/globals';
import { type ActiveSession, type SessionStatus, toSession } from '../../../src/browser/session-body.ts';
import {
  initialState,
  transition,
  type SessionEvent,
  type State,
  type Step,
} from '../../../src/browser/session-state.ts';
import { HOUR_MS } from '../../support/constants.ts';

const NOW = 50 * HOUR_MS;
const OWN: ActiveSession = {
  signedIn: true,
  name: 'own',
  idleEndsAt: NOW + HOUR_MS,
  lastsUntil: NOW + 12 * HOUR_MS,
};
const ANOTHER: ActiveSession = { ...OWN, name: 'another' };
const SIGNED_OUT = { signedIn: false } as const;
const SIGN_OUT_ELSEWHERE: SessionEvent = { type: 'message', message: { kind: 'signing-out' } };

const response = (session: SessionStatus | null): SessionEvent => ({ type: 'response', session });
const used = (name: string): SessionEvent => ({ type: 'message', message: { kind: 'used', name } });

/** Applies simultaneous events and returns the last state and its effects. */
function after(events: readonly SessionEvent[], { from = initialState('own'), at = NOW } = {}): Step {
  return events.reduce<Step>((step, event) => transition(step.state, event, at), {
    state: from,
    effects: [],
  });
}

const active = (): State => after([response(OWN)]).state;

describe('a page before the first response', () => {
  test('schedules the next check for the time at which the notice is due', () => {
    const { state, effects } = after([response(OWN)]);
    expect(state.name).toBe('active');
    expect(effects).toContainEqual({ do: 'checkAt', at: OWN.idleEndsAt - 120_000 });
  });

  test('removes its content if the session has changed, even after a check without a response', () => {
    const removed = { do: 'removeContent', panel: 'anotherSession' };
    expect(after([response(ANOTHER)]).effects).toContainEqual(removed);
    expect(after([response(null), used('another'), response(ANOTHER)]).effects).toContainEqual(removed);
  });

  test('checks the session when another tab uses it', () => {
    expect(after([used('own')]).effects).toEqual([{ do: 'check' }]);
    expect(after([used('own'), response(OWN)]).state.name).toBe('active');
  });
});

describe('an active session', () => {
  test.each([
    ['counts as expiring in its last two minutes, and can be extended', NOW + 12 * HOUR_MS, true],
    ['cannot be extended past its maximum age', NOW + 100_000, false],
  ])('%s', (_what, lastsUntil, canExtend) => {
    const endsAt = NOW + 100_000;
    const { state, effects } = after([response({ ...OWN, idleEndsAt: endsAt, lastsUntil })], {
      from: active(),
    });
    expect(state.name).toBe('expiring');
    expect(effects).toContainEqual({ do: 'showNotice', endsAt, canExtend });
    expect(effects).toContainEqual({ do: 'checkAt', at: endsAt + 1_000 });
  });

  test('with a short idle time counts as expiring during the last third of that time', () => {
    const short = { ...OWN, idleEndsAt: NOW + 30_000 };
    const { state, effects } = after([response(short)]);
    expect([state.name, effects.at(-1)]).toEqual(['active', { do: 'checkAt', at: NOW + 20_000 }]);
    expect(after([response(short)], { from: state, at: NOW + 20_000 }).state.name).toBe('expiring');
  });

  test('no longer counts as expiring once another tab has used it', () => {
    const expiring = after([response({ ...OWN, idleEndsAt: NOW + 100_000 })], { from: active() }).state;
    const { state, effects } = after([response(OWN)], { from: expiring });
    expect(state.name).toBe('active');
    expect(effects).toContainEqual({ do: 'hideNotice' });
  });

  test('stays active without a response, but is checked less and less often', () => {
    const waits: unknown[] = [];
    let state = active();
    for (let failures = 0; failures < 6; failures += 1) {
      const step = after([response(null)], { from: state });
      waits.push(...step.effects.map((effect) => effect.do === 'checkAt' && effect.at - NOW));
      state = step.state;
    }
    expect(waits).toEqual([5_000, 10_000, 20_000, 40_000, 60_000, 60_000]);
    expect(state.name).toBe('active');
    expect(after([response(OWN)], { from: state }).state.failures).toBe(0);
  });

  test('past its expected end has its page hidden during the check', () => {
    const check: SessionEvent[] = [{ type: 'check' }];
    expect(after(check, { from: active(), at: OWN.idleEndsAt - 1 }).effects).toEqual([]);
    const { state, effects } = after(check, { from: active(), at: OWN.idleEndsAt });
    expect(effects).toEqual([{ do: 'cover' }]);
    const extended = response({ ...OWN, idleEndsAt: OWN.idleEndsAt + HOUR_MS });
    expect(after([extended], { from: state, at: OWN.idleEndsAt }).effects).toContainEqual({ do: 'uncover' });
    const old = after([response(OWN)], { from: state, at: OWN.idleEndsAt });
    expect(old.effects).toEqual([{ do: 'cover' }, { do: 'checkAt', at: OWN.idleEndsAt + 1_000 }]);
  });

  test('is checked when another tab uses a different session, or uses the same session near its end', () => {
    expect(after([used('own')], { from: active() }).effects).toEqual([]);
    const nearEnd = { from: active(), at: OWN.idleEndsAt - 200_000 };
    expect(after([used('own')], nearEnd).effects).toEqual([{ do: 'check' }]);
    expect(after([used('another')], { from: active() }).effects).toEqual([{ do: 'check' }]);
  });
});

describe('the content of a page', () => {
  const panelsAfter = (events: readonly SessionEvent[], from = active()) =>
    after(events, { from }).effects.flatMap((effect) =>
      effect.do === 'removeContent' ? [effect.panel] : [],
    );

  test.each<[string, readonly SessionEvent[], string]>([
    ['ended', [response(SIGNED_OUT)], 'ended'],
    ['signed out', [{ type: 'signing-out' }, response(SIGNED_OUT)], 'signedOut'],
    ['signed out in another tab', [SIGN_OUT_ELSEWHERE, response(SIGNED_OUT)], 'signedOutElsewhere'],
    ['another session', [response(ANOTHER)], 'anotherSession'],
  ])('is removed for the reason “%s”', (_how, events, panel) => {
    expect(panelsAfter(events)).toEqual([panel]);
  });

  test('is removed for the reason “ended” if the last sign-out attempt was a minute ago', () => {
    const { state } = after([SIGN_OUT_ELSEWHERE], { from: active(), at: NOW - 60_000 });
    expect(panelsAfter([response(SIGNED_OUT)], state)).toEqual(['ended']);
  });

  test('stays removed for the first reason after a later check', () => {
    const ended = after([SIGN_OUT_ELSEWHERE, response(SIGNED_OUT)], { from: active() }).state;
    const later = after([response(SIGNED_OUT)], { from: ended, at: NOW + HOUR_MS });
    expect(later.effects).toContainEqual({ do: 'removeContent', panel: 'signedOutElsewhere' });
  });

  test('is not restored if a session becomes active again', () => {
    const ended = after([response(SIGNED_OUT)], { from: active() }).state;
    expect(ended.name).toBe('ended');
    expect(panelsAfter([response(ANOTHER)], ended)).toEqual(['anotherSession']);
    expect(panelsAfter([response(OWN)], ended)).toEqual(['anotherSession']);
  });
});

describe('the body of /auth/session', () => {
  const SERVER_NOW = Date.UTC(2026, 0, 1, 12, 0, 0);
  const BODY = {
    signedIn: true,
    expiresAt: '2026-01-01T23:00:00.000Z',
    idleExpiresAt: '2026-01-01T13:00:00.000Z',
  };

  test.each([
    ['in step with the server', 0],
    ['an hour ahead', HOUR_MS],
    ['an hour behind', -HOUR_MS],
  ])('is converted to times on the browser’s clock, which is %s', (_what, aheadMs) => {
    const now = SERVER_NOW + aheadMs;
    // The Date header is in whole seconds, so toSession() subtracts a second to avoid an end time that is too late.
    expect(toSession(BODY, SERVER_NOW, now)).toEqual({
      signedIn: true,
      name: BODY.expiresAt,
      idleEndsAt: now + HOUR_MS - 1_000,
      lastsUntil: now + 11 * HOUR_MS - 1_000,
    });
  });

  test('keeps its times if there is no Date header', () => {
    expect(toSession(BODY, NaN, SERVER_NOW + 5 * HOUR_MS)).toMatchObject({
      idleEndsAt: SERVER_NOW + HOUR_MS,
      lastsUntil: SERVER_NOW + 11 * HOUR_MS,
    });
  });

  test('with signedIn false means signed out, whatever else it contains', () => {
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
  ])('is ignored if it is invalid: %j', (body) => {
    expect(toSession(body, SERVER_NOW, SERVER_NOW)).toBeNull();
  });
});
