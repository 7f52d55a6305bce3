import { randomUUID } from 'node:crypto';
import { ok, problem, warning, type Result } from './finding.ts';
import type { Send } from './redis-connection.ts';

/** The name of a command that Redis refused, and the message of its error reply. */
export type Refusal = readonly [command: string, message: string];

/** Time to live of the key, in seconds, for a doctor that is killed before it deletes the key. */
const KEY_SECONDS = 30;
/** A master of a cluster serves some of the slots. The doctor tries names until one belongs to it. */
const MAX_NAMES = 2_048;

/** Commands that Cloakroom sends or that its scripts run, with the arguments after the key. */
const COMMANDS: readonly (readonly [command: string, ...args: (string | number)[]])[] = [
  ['GET'],
  ['GETEX', 'EX', KEY_SECONDS],
  ['INCR'],
  ['PTTL'],
  ['EXPIRE', KEY_SECONDS],
  ['PEXPIRE', KEY_SECONDS * 1_000],
  ['RPUSH', 'value'],
  ['LREM', 1, 'value'],
  ['LPOP'],
  ['GETDEL'],
  ['DEL'],
];

/** Commands that would create a key without a time to live where SET was refused. */
const CREATES_KEY = new Set(['INCR', 'RPUSH']);

/**
 * Tries every command that Cloakroom uses, and resolves with those that Redis refuses. A user may not read the ACL that
 * restricts it, so trying is the only way.
 *
 * All commands use one string under `prefix` with a time to live, and the last one deletes it. Commands for lists fail with
 * WRONGTYPE, after Redis has checked the right to run them. So no key without a time to live can be left behind.
 */
export async function tryCommands(send: Send, prefix: string): Promise<Refusal[]> {
  const key = await findKey(send, prefix);
  const refusals: Refusal[] = [];
  const isRefused: (...command: Parameters<Send>) => Promise<boolean> = async (command, ...args) => {
    const reply = await send(command, ...args);
    if ('value' in reply || reply.error.startsWith('WRONGTYPE')) return false;
    refusals.push([command, reply.error]);
    return true;
  };
  await isRefused('INFO', 'server');
  await isRefused('EVAL', 'return 1', 1, key);
  const isKeyMissing = await isRefused('SET', key, '1', 'EX', KEY_SECONDS);
  for (const [command, ...args] of COMMANDS)
    if (!isKeyMissing || !CREATES_KEY.has(command)) await isRefused(command, key, ...args);
  return refusals;
}

async function findKey(send: Send, prefix: string): Promise<string> {
  const name = `${prefix}doctor:${randomUUID()}`;
  for (let attempt = 1; ; attempt += 1) {
    const key = `${name}:${attempt}`;
    const reply = await send('PTTL', key);
    const isMoved = 'error' in reply && reply.error.startsWith('MOVED ');
    if (!isMoved || attempt === MAX_NAMES) return key;
  }
}

/** Commands that Cloakroom can do without, and what is lost where an ACL forbids them. */
const OPTIONAL: Readonly<Record<string, string>> = {
  INCR: 'Each process counts sign-ins separately.',
  INFO: 'Cloakroom can’t detect that Redis is full, and other checks can’t run.',
};

/** Explains the refusal that the operator has to solve first, and all others with the same reason. */
export function explainRefusals(refusals: readonly Refusal[]): Result {
  const essential = refusals.filter(
    ([command, message]) => OPTIONAL[command] === undefined || !message.startsWith('NOPERM'),
  );
  const explained = essential.length > 0 ? essential : refusals;
  const reason = REASONS.find(([pattern]) => explained.some(([, message]) => pattern.test(message)));
  if (reason === undefined)
    return ok('Its user may run every command that Cloakroom uses, on keys under REDIS_PREFIX.');
  const [pattern, detail, remedy] = reason;
  const commands = explained.flatMap(([command, message]) => (pattern.test(message) ? [command] : []));
  const rights = commands.map((command) => `+${command.toLowerCase()}`).join(' ');
  const words = detail.replace('{commands}', commands.join(', '));
  const advice = remedy.replace('{rights}', rights);
  if (essential.length > 0) return problem(words, advice);
  return warning([words, ...commands.map((command) => OPTIONAL[command])].join(' '), advice);
}

/** Meanings of refusals, by their message. The operator has to solve the first one that matches any refusal first. */
const REASONS: readonly (readonly [pattern: RegExp, detail: string, remedy: string])[] = [
  [/^READONLY/, 'It is a replica and accepts no writes.', 'Use the address of the master in REDIS_URL.'],
  [
    /^OOM/,
    'It is full and accepts no writes: users can’t sign in.',
    'Raise maxmemory, or remove other data.',
  ],
  [
    /^MISCONF|^NOREPLICAS/,
    'It accepts no writes: it can’t save to disk, or has too few replicas (min-replicas-to-write).',
    'Check its log, its disk and its replicas.',
  ],
  [
    /^NOPERM.*\bkeys?\b/,
    'Its user may not use keys that begin with REDIS_PREFIX.',
    'Grant the user in REDIS_URL access: ACL SETUSER <user> ~<REDIS_PREFIX>*',
  ],
  [
    /^NOPERM/,
    'Its user may not run {commands}.',
    'Grant the user in REDIS_URL permission: ACL SETUSER <user> {rights}',
  ],
  [
    /unknown command/i,
    'It does not support {commands}.',
    'Use Redis 6.2 or newer, and do not rename these commands (rename-command).',
  ],
  [/^/, 'It refuses {commands}.', 'Check its log.'],
];
