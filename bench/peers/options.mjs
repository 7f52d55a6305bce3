import { parseArgs } from 'node:util';
import { KINDS } from './systems.mjs';

/** Reads the options of `npm run bench -- peers`. Throws if an option is unknown or invalid. */
export function readOptions() {
  const { values } = parseArgs({
    options: {
      only: { type: 'string' },
      rounds: { type: 'string', default: '5' },
      seconds: { type: 'string', default: '3' },
      json: { type: 'string' },
      'cpu-prof': { type: 'string' },
    },
  });
  return {
    kinds: selectKinds(values.only),
    rounds: toRounds(values.rounds),
    seconds: toSeconds(values.seconds),
    json: values.json,
    profiles: values['cpu-prof'],
  };
}

/**
 * Returns the systems with these names, and always (a), because all results are relative to it. Throws if a name is unknown.
 * @param {string | undefined} list names separated by commas; undefined for all systems
 */
export function selectKinds(list) {
  const names = list?.split(',') ?? KINDS.map(({ name }) => name);
  const unknown = names.find((name) => !KINDS.some((kind) => kind.name === name));
  if (unknown !== undefined) {
    throw new Error(`Unknown system ${unknown}. Known systems: ${KINDS.map(({ name }) => name).join(', ')}.`);
  }
  return KINDS.filter(({ name }) => name === 'a' || names.includes(name));
}

/** @param {string} text */
function toRounds(text) {
  const count = Number(text);
  if (!Number.isInteger(count) || count < 1)
    throw new Error(`--rounds must be a positive whole number, not ${text}.`);
  return count;
}

/** @param {string} text */
function toSeconds(text) {
  const seconds = Number(text);
  if (!(seconds > 0 && seconds <= 60))
    throw new Error(`--seconds must be above 0 and at most 60, not ${text}.`);
  return seconds;
}
