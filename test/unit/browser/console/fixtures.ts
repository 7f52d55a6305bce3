import { WORKSPACES_PATH } from '../../../support/constants.ts';

export const ORIGIN = 'http://localhost:3000';

/** The console's default request. */
export const suggestedRequest = {
  method: 'GET',
  path: WORKSPACES_PATH,
  query: [] as [string, string][],
  headers: [] as [string, string][],
  contentType: 'application/json',
  body: '',
};

/** Creates a fake `sessionStorage`. A value longer than `capacity` exceeds the storage quota. */
export function createStore(capacity = Infinity) {
  const values = new Map<string, string>();
  return {
    values,
    getItem: (key: string) => values.get(key) ?? null,
    setItem(key: string, value: string) {
      if (value.length > capacity) throw new Error('QuotaExceededError');
      values.set(key, value);
    },
    removeItem: (key: string) => void values.delete(key),
  };
}
