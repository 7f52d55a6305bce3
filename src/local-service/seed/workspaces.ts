import type { Items } from '../pagination.ts';
import { PEOPLE, WORKSPACE_DESCRIPTIONS, WORKSPACE_NAMES } from './names.ts';

export type Workspace = ReturnType<typeof workspaceAt>;

export type SeedWorkspaces = ReturnType<typeof createSeedWorkspaces>;

const GUEST_WORKSPACES = 9;

/** Index of the first `guest` workspace, far beyond the last possible `demo` workspace. */
const GUEST_FIRST = 1_000_000;

const FIRST_CREATED = Date.UTC(2018, 2, 5, 9);
const MINUTE = 60_000;
const DAY = 1_440 * MINUTE;

/** Creates the workspaces for the accounts: `demoCount` for `demo`, and a few others for `guest`. */
export function createSeedWorkspaces(demoCount: number) {
  const ofUser = new Map([
    ['demo', toRange(0, demoCount)],
    ['guest', toRange(GUEST_FIRST, GUEST_WORKSPACES)],
  ]);

  return {
    /** Returns the workspaces of an account; none for an unknown account. */
    listOf(userId: string): Items<Workspace> {
      const { first, count } = ofUser.get(userId) ?? toRange(0, 0);
      return { count, at: (index) => workspaceAt(first + index) };
    },
    /** Finds a workspace by id; undefined if the user has no such workspace. */
    find(userId: string, id: string) {
      const index = ofUser.get(userId)?.indexes.get(id);
      if (index === undefined) return undefined;
      return { ...workspaceAt(index), createdBy: personFor(id, 'workspace-maker') };
    },
  };
}

function toRange(first: number, count: number) {
  const indexes = new Map(Array.from({ length: count }, (_, index) => [toId(first + index), first + index]));
  return { first, count, indexes };
}

export function personFor(seed: string, purpose: string) {
  const [firstName = '', ...lastNames] = pseudoRandomChoice(seed, purpose, PEOPLE).split(' ');
  const id = `u${10_000 + pseudoRandom(firstName, 'person', 89_999)}`;
  return { id, firstName, lastName: lastNames.join(' ') };
}

/** Returns a workspace as shown in a list. Times are in milliseconds since the epoch. */
function workspaceAt(index: number) {
  const round = Math.floor(index / WORKSPACE_NAMES.length);
  const name = choiceAt(WORKSPACE_NAMES, index);
  const createdOn =
    FIRST_CREATED + pseudoRandom(index, 'created', 2_500) * DAY + pseudoRandom(index, 'time', 600) * MINUTE;
  const onTrial = pseudoRandom(index, 'trial', 6) === 0;
  return {
    id: toId(index),
    name: round === 0 ? name : `${name} (${round + 1})`,
    description: pseudoRandomChoice(index, 'description', WORKSPACE_DESCRIPTIONS),
    sharingSettings: {
      link: `https://service.example/join/${pseudoRandom(index, 'link', 2 ** 32).toString(36)}`,
    },
    locked: pseudoRandom(index, 'locked', 17) === 0,
    suspended: pseudoRandom(index, 'suspended', 29) === 0,
    createdOn,
    ...(pseudoRandom(index, 'company', 3) > 0 && {
      companyId: `company${1 + pseudoRandom(index, 'company-id', 12)}`,
    }),
    ...(onTrial && {
      trialEnds: createdOn + 30 * DAY,
      trialExtended: pseudoRandom(index, 'extended', 2) === 0,
    }),
  };
}

/** Returns the id of a workspace. Ids are unique, because multiplication by a constant modulo a prime is a bijection. */
function toId(index: number): string {
  return `workspace${1_000_000 + (((index + 1) * 4_733_149) % 8_999_993)}`;
}

/**
 * Returns a number below `bound` that looks random but depends only on `seed` and `purpose`. A workspace therefore has the same
 * rooms in every process and after every restart. The hash is FNV-1a with the MurmurHash3 finalizer.
 */
export function pseudoRandom(seed: number | string, purpose: string, bound: number): number {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(`${purpose}:${seed}`)) hash = Math.imul(hash ^ byte, 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) % bound;
}

/** Picks one of the choices using `pseudoRandom`. Throws a RangeError if there are no choices. */
export function pseudoRandomChoice<T>(seed: number | string, purpose: string, choices: readonly T[]): T {
  return choiceAt(choices, pseudoRandom(seed, purpose, choices.length));
}

/** Returns the choice at `index`, wrapping around at the end. Throws a RangeError if there are no choices. */
export function choiceAt<T>(choices: readonly T[], index: number): T {
  const choice = choices[index % choices.length];
  if (choice === undefined) throw new RangeError('There is nothing to choose from.');
  return choice;
}
