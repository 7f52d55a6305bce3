import { randomUUID } from 'node:crypto';
import type { RedisAnswer, RedisLink } from './redis-connection.ts';

/** A command that Redis would not carry out, and why. */
export interface Refusal {
  readonly command: string;
  readonly reason: 'right' | 'key' | 'unknown' | 'replica' | 'full' | 'disk' | 'replicas' | 'other';
}

/** What stands under REDIS_PREFIX for a moment, and goes by itself where we are killed in between (seconds). */
const LIVES_SECONDS = 30;
/** In a cluster each master has some of the names: so many are tried until one is its own. */
const MOST_NAMES = 2_048;

/** Commands of scripts; hashes and lists only once it is known that they will not stay. */
const SCRIPT = `
  local refused = {}
  local function try(...)
    local answer = redis.pcall(...)
    local isRefused = type(answer) == 'table' and answer.err ~= nil
    if isRefused then table.insert(refused, ({...})[1] .. ' ' .. answer.err) end
    return not isRefused
  end
  local key, seconds = KEYS[1], ARGV[1]
  try('SET', key, '1', 'EX', seconds)
  try('GET', key)
  try('INCR', key)
  try('PTTL', key)
  try('PEXPIRE', key, seconds * 1000)
  if not try('EXPIRE', key, seconds) then return refused end
  try('DEL', key)
  try('HSET', key, 'field', 'value')
  try('EXPIRE', key, seconds)
  try('HSTRLEN', key, 'field')
  try('HGET', key, 'field')
  try('HKEYS', key)
  try('HDEL', key, 'field')
  try('DEL', key)
  try('RPUSH', key, 'value', 'value')
  try('EXPIRE', key, seconds)
  try('LREM', key, 1, 'value')
  try('LPOP', key)
  try('DEL', key)
  return refused`;

/**
 * Does for real, with one key of its own under `prefix`, all that Cloakroom does with Redis; gives what was refused. The
 * key is taken away, and has a time to live at every moment.
 */
export async function tryCommands(link: RedisLink, prefix: string): Promise<Refusal[]> {
  const { key, set } = await setOwnKey(link, prefix);
  const script = await link.ask('EVAL', SCRIPT, 1, key, LIVES_SECONDS);
  const steps: readonly (readonly [command: string, answer: RedisAnswer])[] = [
    ['SET', set],
    ['EVAL', script],
    ['SET', await link.ask('SET', key, '1', 'EX', LIVES_SECONDS)],
    ['GETEX', await link.ask('GETEX', key, 'EX', LIVES_SECONDS)],
    ['GET', await link.ask('GET', key)],
    ['PTTL', await link.ask('PTTL', key)],
    ['GETDEL', await link.ask('GETDEL', key)],
    ['HGET', await link.ask('HGET', key, 'field')],
    ['HKEYS', await link.ask('HKEYS', key)],
    ['DEL', await link.ask('DEL', key)],
  ];
  const direct = steps.flatMap(([command, answer]) =>
    'refusal' in answer ? [[command, answer.refusal]] : [],
  );
  const inScript = 'value' in script && Array.isArray(script.value) ? (script.value as string[]) : [];
  const found = [...direct, ...inScript.map((line) => [line.slice(0, line.indexOf(' ')), line])].map(
    ([command = '', message = '']) => toRefusal(command, message),
  );
  return [...new Map(found.map((refusal) => [refusal.command, refusal])).values()];
}

async function setOwnKey(link: RedisLink, prefix: string): Promise<{ key: string; set: RedisAnswer }> {
  const name = `${prefix}doctor:${randomUUID()}`;
  for (let attempt = 1; ; attempt += 1) {
    const key = `${name}:${attempt}`;
    const set = await link.ask('SET', key, '1', 'EX', LIVES_SECONDS, 'NX');
    const isElsewhere = 'refusal' in set && set.refusal.startsWith('MOVED ');
    if (!isElsewhere || attempt === MOST_NAMES) return { key, set };
  }
}

const REASONS: readonly (readonly [RegExp, Refusal['reason']])[] = [
  [/NOPERM.*\bkeys?\b|can't access at least one of the keys/i, 'key'],
  [/NOPERM|ACL failure|can't run this command/i, 'right'],
  [/unknown.*command/i, 'unknown'],
  [/READONLY/, 'replica'],
  [/OOM/, 'full'],
  [/MISCONF/, 'disk'],
  [/NOREPLICAS/, 'replicas'],
];

function toRefusal(command: string, message: string): Refusal {
  const [, reason] = REASONS.find(([pattern]) => pattern.test(message)) ?? [];
  return { command, reason: reason ?? 'other' };
}
