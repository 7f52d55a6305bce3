import type { Items } from '../pagination.ts';
import { MURAL_TITLES, ROOM_NAMES } from './names.ts';
import { choiceAt, pseudoRandom, pseudoRandomChoice, personFor, type Workspace } from './workspaces.ts';

type Room = ReturnType<typeof roomAt>;
type Mural = ReturnType<typeof muralAt>;

const MAX_ROOMS = 60;
const MAX_MURALS = 120;
const FIRST_ROOM = 1_600_000_000_000_000;

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const ROOM_DESCRIPTIONS = [
  '',
  '',
  '',
  'Open to everyone.',
  'By invitation.',
  'Drafts; nothing here is final.',
];

/** Returns the rooms in a workspace: 0 to 60. */
export function roomsIn(workspace: Workspace): Items<Room> {
  const first = FIRST_ROOM + Number(/\d+$/.exec(workspace.id)?.[0]) * 1_000;
  const firstName = pseudoRandom(workspace.id, 'first-room-name', ROOM_NAMES.length);
  return {
    count: pseudoRandom(workspace.id, 'rooms', MAX_ROOMS + 1),
    at: (index) => roomAt(workspace, first + index, choiceAt(ROOM_NAMES, firstName + index), index),
  };
}

/** Returns the murals in a workspace: at most 120, and none in a workspace without rooms. */
export function muralsIn(workspace: Workspace): Items<Mural> {
  const rooms = roomsIn(workspace);
  return {
    count: rooms.count === 0 ? 0 : pseudoRandom(workspace.id, 'murals', MAX_MURALS + 1),
    at: (index) => {
      const id = `${workspace.id}.${createdOn(workspace, index)}`;
      return muralAt(workspace, id, rooms.at(pseudoRandom(id, 'room', rooms.count)).id, index);
    },
  };
}

/** Returns a room in a workspace. Times are in milliseconds since the epoch. */
function roomAt(workspace: Workspace, id: number, name: string, index: number) {
  const createdBy = personFor(String(id), 'room-maker');
  const created = createdOn(workspace, index);
  const isPrivate = pseudoRandom(id, 'private', 4) === 0;
  return {
    id,
    name,
    description: pseudoRandomChoice(id, 'description', ROOM_DESCRIPTIONS),
    type: isPrivate ? 'private' : 'open',
    confidential: isPrivate && pseudoRandom(id, 'confidential', 2) === 0,
    isMember: pseudoRandom(id, 'member', 5) > 0,
    workspaceId: workspace.id,
    createdOn: created,
    createdBy,
    updatedOn: created + pseudoRandom(id, 'updated', 400) * HOUR,
    updatedBy: pseudoRandom(id, 'updated-by', 2) === 0 ? createdBy : personFor(String(id), 'room-changer'),
    ...(pseudoRandom(id, 'favorite', 6) === 0 && { favorite: true }),
  };
}

/** Returns a mural in a workspace. Times are in milliseconds since the epoch. */
function muralAt(workspace: Workspace, id: string, roomId: number, index: number) {
  const title = pseudoRandomChoice(id, 'title', MURAL_TITLES);
  const created = createdOn(workspace, index);
  return {
    id,
    title: pseudoRandom(id, 'numbered', 3) === 0 ? `${title} ${index + 1}` : title,
    status: 'active',
    roomId,
    workspaceId: workspace.id,
    createdOn: created,
    updatedOn: created + pseudoRandom(id, 'updated', 9_000) * MINUTE,
    ...(pseudoRandom(id, 'thumbnail', 4) > 0 && {
      thumbnailUrl: `https://service.example/thumbnails/${id}.png`,
    }),
    ...(pseudoRandom(id, 'favorite', 8) === 0 && { favorite: true }),
    ...(pseudoRandom(id, 'folder', 5) === 0 && { folderId: `folder${1 + pseudoRandom(id, 'folder-id', 9)}` }),
    ...(pseudoRandom(id, 'state', 2) === 0 && { state: 'published' }),
  };
}

/** Returns the time at which an item was created. Consecutive items in a list are at least seven hours apart. */
function createdOn(workspace: Workspace, index: number): number {
  return (
    workspace.createdOn + (index + 1) * DAY + pseudoRandom(workspace.id, `item-${index}`, 1_000) * MINUTE
  );
}
