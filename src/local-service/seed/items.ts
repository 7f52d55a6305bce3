import type { Items } from '../pagination.ts';
import { MURAL_TITLES, ROOM_NAMES } from './names.ts';
import { choiceAt, mix, mixedChoice, personFor, type Workspace } from './workspaces.ts';

type Room = ReturnType<typeof roomAt>;
type Mural = ReturnType<typeof muralAt>;

const MOST_ROOMS = 60;
const MOST_MURALS = 120;
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

/** The rooms of a workspace: 0 to 60. */
export function roomsIn(workspace: Workspace): Items<Room> {
  const first = FIRST_ROOM + Number(/\d+$/.exec(workspace.id)?.[0]) * 1_000;
  const firstName = mix(workspace.id, 'first-room-name', ROOM_NAMES.length);
  return {
    count: mix(workspace.id, 'rooms', MOST_ROOMS + 1),
    at: (index) => roomAt(workspace, first + index, choiceAt(ROOM_NAMES, firstName + index), index),
  };
}

/** The murals of a workspace: 0 to 120, and none without a room. */
export function muralsIn(workspace: Workspace): Items<Mural> {
  const rooms = roomsIn(workspace);
  return {
    count: rooms.count === 0 ? 0 : mix(workspace.id, 'murals', MOST_MURALS + 1),
    at: (index) => {
      const id = `${workspace.id}.${createdOn(workspace, index)}`;
      return muralAt(workspace, id, rooms.at(mix(id, 'room', rooms.count)).id, index);
    },
  };
}

/** A room inside a workspace; times are milliseconds since the epoch. */
function roomAt(workspace: Workspace, id: number, name: string, index: number) {
  const createdBy = personFor(String(id), 'room-maker');
  const created = createdOn(workspace, index);
  const isPrivate = mix(id, 'private', 4) === 0;
  return {
    id,
    name,
    description: mixedChoice(id, 'description', ROOM_DESCRIPTIONS),
    type: isPrivate ? 'private' : 'open',
    confidential: isPrivate && mix(id, 'confidential', 2) === 0,
    isMember: mix(id, 'member', 5) > 0,
    workspaceId: workspace.id,
    createdOn: created,
    createdBy,
    updatedOn: created + mix(id, 'updated', 400) * HOUR,
    updatedBy: mix(id, 'updated-by', 2) === 0 ? createdBy : personFor(String(id), 'room-changer'),
    ...(mix(id, 'favorite', 6) === 0 && { favorite: true }),
  };
}

/** A mural inside a workspace; times are milliseconds since the epoch. */
function muralAt(workspace: Workspace, id: string, roomId: number, index: number) {
  const title = mixedChoice(id, 'title', MURAL_TITLES);
  const created = createdOn(workspace, index);
  return {
    id,
    title: mix(id, 'numbered', 3) === 0 ? `${title} ${index + 1}` : title,
    status: 'active',
    roomId,
    workspaceId: workspace.id,
    createdOn: created,
    updatedOn: created + mix(id, 'updated', 9_000) * MINUTE,
    ...(mix(id, 'thumbnail', 4) > 0 && { thumbnailUrl: `https://service.example/thumbnails/${id}.png` }),
    ...(mix(id, 'favorite', 8) === 0 && { favorite: true }),
    ...(mix(id, 'folder', 5) === 0 && { folderId: `folder${1 + mix(id, 'folder-id', 9)}` }),
    ...(mix(id, 'state', 2) === 0 && { state: 'published' }),
  };
}

/**
 * Returns when an item was created. No two items of a workspace have the same time, because more than a day lies between them.
 */
function createdOn(workspace: Workspace, index: number): number {
  return workspace.createdOn + (index + 1) * DAY + mix(workspace.id, `item-${index}`, 1_000) * MINUTE;
}
