import { EventEmitter } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { catchSighup } from '../../src/process.ts';
import { CLIENT_ID, SESSION_KEY } from '../support/constants.ts';
import { eventually } from '../support/eventually.ts';
import { startProgram } from '../support/programs.ts';

/** Creates a fake process that receives only SIGHUP. */
function createSelf() {
  const signals = new EventEmitter();
  return { sighup: catchSighup(signals as NodeJS.Process), hangUp: () => signals.emit('SIGHUP') };
}

const turn = async () => new Promise(setImmediate);

test('a SIGHUP that arrives early is handled once the handler is registered', async () => {
  const { sighup, hangUp } = createSelf();
  hangUp();
  const ran = new Promise<string>((resolve) => sighup.handle(async () => resolve('ran')));
  expect(await ran).toBe('ran');
});

test('two SIGHUPs run the handler one after the other', async () => {
  const { sighup, hangUp } = createSelf();
  const steps: string[] = [];
  const all = new Promise<void>((resolve) => {
    sighup.handle(async () => {
      steps.push('started');
      await turn();
      steps.push('done');
      if (steps.length === 4) resolve();
    });
  });
  hangUp();
  hangUp();
  await all;
  expect(steps).toEqual(['started', 'done', 'started', 'done']);
});

test('an ignored SIGHUP does not run the handler', async () => {
  const { sighup, hangUp } = createSelf();
  let runs = 0;
  sighup.handle(async () => void (runs += 1));
  sighup.ignore();
  hangUp();
  await turn();
  expect(runs).toBe(0);
});

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

const ENV = {
  PORT: '0',
  SERVICE_URL: 'http://127.0.0.1:1',
  CLIENT_ID,
  CLIENT_SECRET: 'a-client-secret',
  SCOPES: 'room:read',
  REDIS_URL: 'redis://127.0.0.1:1',
  SESSION_KEYS: SESSION_KEY,
};

/** Starts the app in its own terminal and writes its output to a file. */
async function startInTerminal() {
  const command = `echo "pid=$$"; exec '${process.execPath}' dist/main.js >"$TMPDIR/printed" 2>&1`;
  const program = await startProgram('script', ['--quiet', '--command', command, '/dev/null'], ENV);
  const [, pid = ''] = await program.waitForOutput(/pid=(\d+)/);
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

test('if the terminal is still open, SIGHUP reloads the secrets', async () => {
  await using started = await startInTerminal();
  process.kill(started.pid, 'SIGHUP');
  await eventually(async () => (await started.printed()).includes('no secrets to reload'));
  expect(isRunning(started.pid)).toBe(true);
});

test('closing the terminal ends the process', async () => {
  await using started = await startInTerminal();
  started.program.child.kill('SIGKILL'); // also closes the terminal that `script` created
  await eventually(async () => !isRunning(started.pid));
  expect(await started.printed()).not.toContain('no secrets to reload');
});

/** A module that sends SIGHUP once the app starts listening for it and prints how many packages have been loaded. */
const SEND_SIGHUP_AT_ONCE = `
  import { createRequire } from 'node:module';
  const { cache } = createRequire('/');
  const on = process.on;
  process.on = function (name, listener) {
    on.call(this, name, listener);
    if (name === 'SIGHUP') {
      console.log('packages loaded: ' + Object.keys(cache).length);
      process.kill(process.pid, name);
    }
    return this;
  };
`;

test('a SIGHUP during startup reloads the secrets once the app is running', async () => {
  const early = `data:text/javascript,${encodeURIComponent(SEND_SIGHUP_AT_ONCE)}`;
  await using program = await startProgram(process.execPath, ['--import', early, 'dist/main.js'], ENV);
  const [, loaded] = await program.waitForOutput(/packages loaded: (\d+)/);
  await program.waitForOutput(/no secrets to reload/);
  expect(loaded).toBe('0');
});
