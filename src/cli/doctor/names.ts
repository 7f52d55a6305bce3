import { spawn } from 'node:child_process';
import { isIP } from 'node:net';
import { text } from 'node:stream/consumers';
import { failureOf } from './network-errors.ts';

/** Shorter than anybody waits for a connection, which would be blamed for it. */
const WITHIN_MS = 2_500;
/** For a process to begin and to end, too. */
const TOLD_WITHIN_MS = 8_000;

/** Tells the code of what goes wrong. A look-up that is under way lets a process end in no other way. */
const LOOK_UP = `
  const tell = (code) => {
    require('node:fs').writeSync(1, code);
    process.kill(process.pid, 'SIGKILL');
  };
  setTimeout(tell, ${WITHIN_MS}, 'EAI_AGAIN');
  require('node:dns').lookup(process.argv[1], (error) => tell(error?.code ?? ''));`;

/**
 * Looks a host's name up, for 2.5 s at most. Rejects with a Failure where nobody answers, or nobody has it. `host` may be an
 * address, in brackets as well.
 *
 * In a process of its own: one looks up two names at a time, and can't give either of them up, nor end before it is told. So a
 * name that nobody answers for would hold up those that are well.
 */
export async function requireName(host: string): Promise<void> {
  if (host === 'localhost' || isIP(host.replaceAll(/[[\]]/g, '')) !== 0) return;
  const failure = failureOf({ code: await lookUp(host) });
  if (failure !== undefined) throw failure;
}

/** The code of what went wrong; empty where nothing did. Where no process can be had, who connects will see. */
async function lookUp(host: string): Promise<string> {
  const args = [...process.execArgv, '--input-type=commonjs', '--eval', LOOK_UP, '--', host];
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'ignore'],
    timeout: TOLD_WITHIN_MS,
    killSignal: 'SIGKILL',
  });
  child.on('error', () => {});
  return text(child.stdout).catch(() => '');
}
