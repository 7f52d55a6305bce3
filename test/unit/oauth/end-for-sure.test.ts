import { expect, test } from '@jest/globals';
import { endForSure } from '../../../src/oauth/end-for-sure.ts';
import { createLog } from '../../../src/observability/logger.ts';
import { createSessionEvents } from '../../../src/session/events.ts';
import { eventually } from '../../support/eventually.ts';

const BY = { requestId: 'a-request', trace: null, session: undefined, token: undefined };

test('the end of the session before a sign-in is tried again, and at last given up with the cause', async () => {
  const lines: Record<string, unknown>[] = [];
  const write = (line: string) => lines.push(JSON.parse(line) as Record<string, unknown>);
  const log = createLog('info', { write });
  const end = async () => {
    throw new Error('Redis is away');
  };
  await endForSure({ store: { end }, log, life: createSessionEvents(log, null) }, 'an-id', BY, {
    again: 1,
    giveUp: 20,
  });
  await eventually(async () => lines.length > 1);
  const err = expect.objectContaining({ message: 'Redis is away' });
  expect(lines).toEqual([
    expect.objectContaining({ level: 'warn', msg: 'the session before a sign-in is ended later', err }),
    expect.objectContaining({ level: 'error', msg: 'the session before a sign-in could not be ended', err }),
  ]);
});
