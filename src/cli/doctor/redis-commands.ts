import { randomUUID } from 'node:crypto';
import { ok, problem, warning, type Result } from './finding.ts';
import type { Send } from './redis-connection.ts';

/** The name of a command that Redis refused, and the error message. */
export type Refusal = readonly [command: string, message: string];

/** Time to live of the key, in seconds, in case the doctor is killed before it deletes the key. */
const KEY_SECONDS = 30;
/** Maximum number of key names to try. A cluster master serves only some slots, so many names belong to other masters. */
const MAX_NAMES = 2_048;

/** Commands that Cloakroom sends, directly or in scripts, with the arguments after the key. */
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

/** Commands that would create a key without a time to live if SET had been refused. */
const CREATES_KEY = new Set(['INCR', 'RPUSH']);

/**
 * Tries every command that Cloakroom uses, and resolves with those that Redis refuses. Reading the ACL instead would not work,
 * because a user may lack permission to read its own ACL.
 *
 * All commands use a single string key under `prefix` with a time to live, and the last command deletes the key. List
 * commands fail with WRONGTYPE, but only after Redis has checked the permission. A key without a time to live can therefore never
 * be left behind.
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

/** Commands that Cloakroom can do without, with the consequences if an ACL forbids them. */
const OPTIONAL: Readonly<Record<string, string>> = {
  INCR: 'Each process counts sign-ins separately.',
  INFO: 'Cloakroom can’t detect that Redis is full, and the doctor can’t run other checks.',
};

/** Explains the refusals that match the first applicable entry in `REASONS`, which the operator must resolve first. */
export function explainRefusals(refusals: readonly Refusal[]): Result {
  const essential = refusals.filter(
    ([command, message]) => OPTIONAL[command] === undefined || !message.startsWith('NOPERM'),
  );
  const explained = essential.length > 0 ? essential : refusals;
  const reason = REASONS.find(([pattern]) => explained.some(([, message]) => pattern.test(message)));
  if (reason === undefined) return ok('The user in REDIS_URL has every permission that Cloakroom needs.');
  const [pattern, detail, remedy] = reason;
  const commands = explained.flatMap(([command, message]) => (pattern.test(message) ? [command] : []));
  const rights = commands.map((command) => `+${command.toLowerCase()}`).join(' ');
  const words = detail.replace('{commands}', commands.join(', '));
  const advice = remedy.replace('{rights}', rights);
  if (essential.length > 0) return problem(words, advice);
  return warning([words, ...commands.map((command) => OPTIONAL[command])].join(' '), advice);
}

/** Explanations of refusals, matched against their messages, in the order in which the operator must resolve them. */
const REASONS: readonly (readonly [pattern: RegExp, detail: string, remedy: string])[] = [
  [/^READONLY/, 'Redis is a replica and refuses writes.', 'Set REDIS_URL to the master’s address.'],
  [
    /^OOM/,
    'Redis is full and refuses writes. Users can’t sign in.',
    'Raise maxmemory, or remove other data.',
  ],
  [
    /^MISCONF|^NOREPLICAS/,
    'Redis refuses writes because it can’t save to disk or has too few replicas (min-replicas-to-write).',
    'Check the Redis log, disk and replicas.',
  ],
  [
    /^NOPERM.*\bkeys?\b/,
    'The user in REDIS_URL lacks permission to access keys that begin with REDIS_PREFIX.',
    'Grant the user in REDIS_URL access: ACL SETUSER <user> ~<REDIS_PREFIX>*',
  ],
  [
    /^NOPERM/,
    'The user in REDIS_URL lacks permission to run {commands}.',
    'Grant the user in REDIS_URL permission: ACL SETUSER <user> {rights}',
  ],
  [
    /unknown command/i,
    'Redis does not support {commands}.',
    'Use Redis 6.2 or newer, and do not rename these commands (rename-command).',
  ],
  [/^/, 'Redis refuses {commands}.', 'Check the Redis log.'],
];
