import { expect, test } from '@jest/globals';
import { endPreviousSession } from '../../../src/oauth/callback.ts';
import { createLog } from '../../../src/observability/logger.ts';
import { createSessionEvents } from '../../../src/session/events.ts';
import { eventually } from '../../support/eventually.ts';

const BY = { requestId: 'a-request', trace: null, session: undefined, token: undefined };

test('ending the previous session is retried, and at last given up with the cause in the log', async () => {
  const lines: Record<string, unknown>[] = [];
  const write = (line: string) => lines.push(JSON.parse(line) as Record<string, unknown>);
  const log = createLog('info', { write });
  const end = async () => {
    throw new Error('Redis is away');
  };
  await endPreviousSession(
    { store: { end }, log, sessionEvents: createSessionEvents(log, null) },
    'an-id',
    BY,
    {
      retryMs: 1,
      giveUpMs: 20,
    },
  );
  await eventually(async () => lines.length > 1);
  const err = expect.objectContaining({ message: 'Redis is away' });
  expect(lines).toEqual([
    expect.objectContaining({ level: 'warn', msg: 'previous session not ended yet', err }),
    expect.objectContaining({ level: 'error', msg: 'gave up ending the previous session', err }),
  ]);
});
