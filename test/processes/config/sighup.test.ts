import { EventEmitter } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { takeHangUps } from '../../../src/config/sighup.ts';
import { CLIENT_ID } from '../../support/constants.ts';
import { eventually } from '../../support/eventually.ts';
import { startProgram } from '../../support/programs.ts';

/** A process as far as this signal goes. */
function createSelf() {
  const signals = new EventEmitter();
  return { hangUps: takeHangUps(signals as NodeJS.Process), hangUp: () => signals.emit('SIGHUP') };
}

const turn = async () => new Promise(setImmediate);

test('a signal that comes before anyone can answer it is answered then', async () => {
  const { hangUps, hangUp } = createSelf();
  hangUp();
  const answered = new Promise<string>((resolve) => hangUps.answer(async () => resolve('answered')));
  expect(await answered).toBe('answered');
});

test('signals are answered one after the other', async () => {
  const { hangUps, hangUp } = createSelf();
  const told: string[] = [];
  const all = new Promise<void>((resolve) => {
    hangUps.answer(async () => {
      told.push('begun');
      await turn();
      told.push('done');
      if (told.length === 4) resolve();
    });
  });
  hangUp();
  hangUp();
  await all;
  expect(told).toEqual(['begun', 'done', 'begun', 'done']);
});

test('once it is to be ignored a signal is not answered', async () => {
  const { hangUps, hangUp } = createSelf();
  let answers = 0;
  hangUps.answer(async () => void (answers += 1));
  hangUps.ignore();
  hangUp();
  await turn();
  expect(answers).toBe(0);
});

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

const ENV = {
  NODE_ENV: 'production',
  PORT: '0',
  PUBLIC_URL: 'http://localhost:3000',
  SERVICE_URL: 'http://127.0.0.1:1',
  CLIENT_ID,
  CLIENT_SECRET: 'a-client-secret',
  SCOPES: 'room:read',
  REDIS_URL: 'redis://127.0.0.1:1',
  SESSION_KEYS: Buffer.alloc(32, 7).toString('base64url'),
};

/** The app in a terminal of its own, and its process id; what it prints goes to a file. */
async function startInTerminal() {
  const command = `echo "pid=$$"; exec '${process.execPath}' dist/main.js >"$TMPDIR/printed" 2>&1`;
  const program = await startProgram('script', ['--quiet', '--command', command, '/dev/null'], ENV);
  const [, pid = ''] = await program.prints(/pid=(\d+)/);
  const printed = async () => readFile(join(program.folder, 'printed'), 'utf8').catch(() => '');
  await eventually(async () => (await printed()).includes('"msg":"listening"'));
  return {
    program,
    printed,
    pid: Number(pid),
    async [Symbol.asyncDispose]() {
      if (isRunning(Number(pid))) process.kill(Number(pid), 'SIGKILL');
      await program[Symbol.asyncDispose]();
    },
  };
}

test('in a terminal that is there, the signal asks to read secrets again', async () => {
  await using started = await startInTerminal();
  process.kill(started.pid, 'SIGHUP');
  await eventually(async () => (await started.printed()).includes('nothing to read again'));
  expect(isRunning(started.pid)).toBe(true);
});

test('a process whose terminal was closed ends', async () => {
  await using started = await startInTerminal();
  started.program.child.kill('SIGKILL'); // and with it the terminal that it made
  await eventually(async () => !isRunning(started.pid));
  expect(await started.printed()).not.toContain('nothing to read again');
});

/** Sends the signal at the first moment at which it is taken, and tells how much of the app was read by then. */
const HANG_UP_AT_ONCE = `
  import { createRequire } from 'node:module';
  const { cache } = createRequire('/');
  const on = process.on;
  process.on = function (name, listener) {
    on.call(this, name, listener);
    if (name === 'SIGHUP') {
      console.log('packages read: ' + Object.keys(cache).length);
      process.kill(process.pid, name);
    }
    return this;
  };
`;

test('a signal that comes before anything else is read is answered once the app is there', async () => {
  const early = `data:text/javascript,${encodeURIComponent(HANG_UP_AT_ONCE)}`;
  await using program = await startProgram(process.execPath, ['--import', early, 'dist/main.js'], ENV);
  const [, read] = await program.prints(/packages read: (\d+)/);
  await program.prints(/nothing to read again/);
  expect(read).toBe('0');
});
