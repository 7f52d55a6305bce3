import type { Items } from '../pagination.ts';
import { choiceAt, mix, mixedChoice } from './mix.ts';
import { PEOPLE, WORKSPACE_DESCRIPTIONS, WORKSPACE_NAMES } from './names.ts';

/** A person, where an item names one. */
export interface Person {
  readonly id: string;
  readonly firstName: string;
  readonly lastName: string;
}

/** A workspace as the list shows it; times are milliseconds since the epoch. */
export interface Workspace {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly sharingSettings: { readonly link: string };
  readonly locked: boolean;
  readonly suspended: boolean;
  readonly createdOn: number;
  readonly companyId?: string;
  readonly trialEnds?: number;
  readonly trialExtended?: boolean;
}

/** A workspace as it is shown alone. */
export type SingleWorkspace = Workspace & { readonly createdBy: Person };

export interface SeedWorkspaces {
  /** The workspaces of this account, none for one that isn't known. */
  listOf(userId: string): Items<Workspace>;
  /** Undefined where there is no such workspace, or it is someone else's. */
  find(userId: string, id: string): SingleWorkspace | undefined;
}

const GUEST_WORKSPACES = 9;

/** The first workspace of `guest`: far behind the last that `demo` can have. */
const GUEST_FIRST = 1_000_000;

const FIRST_CREATED = Date.UTC(2018, 2, 5, 9);
const MINUTE = 60_000;
const DAY = 1_440 * MINUTE;

/** The seed's workspaces: `demoCount` for `demo`, a few others for `guest`. */
export function createSeedWorkspaces(demoCount: number): SeedWorkspaces {
  const ofUser = new Map([
    ['demo', toRange(0, demoCount)],
    ['guest', toRange(GUEST_FIRST, GUEST_WORKSPACES)],
  ]);

  return {
    listOf(userId) {
      const { first, count } = ofUser.get(userId) ?? toRange(0, 0);
      return { count, at: (index) => workspaceAt(first + index) };
    },
    find(userId, id) {
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

/** Someone who made or changed the item called `seed`. */
export function personFor(seed: string, purpose: string): Person {
  const [firstName, lastName] = mixedChoice(seed, purpose, PEOPLE);
  return { id: `u${10_000 + mix(firstName, 'person', 89_999)}`, firstName, lastName };
}

function workspaceAt(index: number): Workspace {
  const round = Math.floor(index / WORKSPACE_NAMES.length);
  const name = choiceAt(WORKSPACE_NAMES, index);
  const createdOn = FIRST_CREATED + mix(index, 'created', 2_500) * DAY + mix(index, 'time', 600) * MINUTE;
  const onTrial = mix(index, 'trial', 6) === 0;
  return {
    id: toId(index),
    name: round === 0 ? name : `${name} (${round + 1})`,
    description: mixedChoice(index, 'description', WORKSPACE_DESCRIPTIONS),
    sharingSettings: { link: `https://service.example/join/${mix(index, 'link', 2 ** 32).toString(36)}` },
    locked: mix(index, 'locked', 17) === 0,
    suspended: mix(index, 'suspended', 29) === 0,
    createdOn,
    ...(mix(index, 'company', 3) > 0 && { companyId: `company${1 + mix(index, 'company-id', 12)}` }),
    ...(onTrial && { trialEnds: createdOn + 30 * DAY, trialExtended: mix(index, 'extended', 2) === 0 }),
  };
}

/** An id looks arbitrary but is no other's: the multiples of a number below a prime visit each number once. */
function toId(index: number): string {
  return `workspace${1_000_000 + (((index + 1) * 4_733_149) % 8_999_993)}`;
}
