import { checkTarget } from '../upstream/target.ts';

/** A list of the service, and where the browser shows it. */
export interface ServiceList {
  /** Path on the service, percent-encoded where needed, without a query. */
  readonly servicePath: string;
  /** Path of ours, without a query; with `.csv` and `.ndjson` behind it, its exports. */
  readonly address: string;
}

const API = '/api/public/v1';
const LONGEST_ID = 256;

/** The list of workspaces (service interface, section 4.4). */
export const WORKSPACES = {
  servicePath: `${API}/workspaces`,
  address: '/workspaces',
} as const satisfies ServiceList;

/**
 * Whether an id can stand as one segment of a path, under every reading that a server may give it: nothing that separates,
 * escapes or leads upwards, and nothing that the gateway would refuse. What the service calls its items is not promised.
 */
export function isPathId(id: string): boolean {
  if (id.length === 0 || id.length > LONGEST_ID || /[/\\%;?#\p{Cc}\p{Cs}\p{Z}]/u.test(id)) return false;
  return checkTarget(toWorkspacePath(id), [`${WORKSPACES.servicePath}/`]) === 'forward';
}

/** One workspace on the service. Its id must be one that isPathId accepts. */
export function toWorkspacePath(id: string): string {
  return `${WORKSPACES.servicePath}/${encodeURIComponent(id)}`;
}

/** Where the browser shows a workspace. Its id must be one that isPathId accepts. */
export function toWorkspaceAddress(id: string): string {
  return `${WORKSPACES.address}/${encodeURIComponent(id)}`;
}

/** A kind of item inside a workspace (service interface, section 4.5; `WORKSPACE_ITEMS`). */
export function toItemsList(workspaceId: string, kind: string): ServiceList {
  return {
    servicePath: `${toWorkspacePath(workspaceId)}/${kind}`,
    address: `${toWorkspaceAddress(workspaceId)}/${kind}`,
  };
}
