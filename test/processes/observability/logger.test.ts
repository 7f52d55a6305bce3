import { once } from 'node:events';
import { expect, test } from '@jest/globals';
import { eventually } from '../../support/eventually.ts';
import { startProgram } from '../../support/programs.ts';

test('a process keeps serving requests after the reader of its log has closed the pipe', async () => {
  await using program = await startProgram(process.execPath, ['dist/main.js'], {
    PORT: '0',
    SERVICE_URL: 'http://127.0.0.1:9',
    CLIENT_ID: 'a',
    CLIENT_SECRET: 'a',
    SCOPES: 'room:read',
    REDIS_URL: 'redis://127.0.0.1:9',
    SESSION_KEYS: Buffer.alloc(32, 7).toString('base64url'),
  });
  const [, url = ''] = await program.waitForOutput(/"url":"([^"]+)".*"msg":"listening"/);
  program.child.stdout.destroy();
  if (!program.child.stdout.closed) await once(program.child.stdout, 'close');
  for (let count = 0; count < 3; count += 1) expect((await fetch(`${url}/healthz`)).status).toBe(200);
  await eventually(async () => (await fetch(`${url}/healthz`)).ok);
});
