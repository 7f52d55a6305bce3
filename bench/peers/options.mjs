import { parseArgs } from 'node:util';
import { KINDS } from './systems.mjs';

/** Reads the options of `npm run bench -- peers`. Throws for an unknown or invalid one. */
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
  const names = values.only?.split(',') ?? KINDS.map(({ name }) => name);
  const unknown = names.find((name) => !KINDS.some((kind) => kind.name === name));
  if (unknown !== undefined) {
    throw new Error(`There is no system ${unknown}; there are ${KINDS.map(({ name }) => name).join(', ')}.`);
  }
  return {
    // All figures are ratios to (a).
    kinds: KINDS.filter(({ name }) => name === 'a' || names.includes(name)),
    rounds: toCount(values.rounds),
    seconds: toSeconds(values.seconds),
    json: values.json,
    profiles: values['cpu-prof'],
  };
}

/** @param {string} text */
function toCount(text) {
  const count = Number(text);
  if (!Number.isInteger(count) || count < 1) throw new Error(`${text} is not a whole number from 1.`);
  return count;
}

/** @param {string} text */
function toSeconds(text) {
  const seconds = Number(text);
  if (!(seconds > 0 && seconds <= 60)) throw new Error(`${text} is not a number of seconds up to 60.`);
  return seconds;
}
