import { WORKSPACES_PATH } from '../../support/constants.ts';

/** A request as the console begins with it, for tests to change. */
export const ORIGIN = 'http://localhost:3000';

export const usual = {
  method: 'GET',
  path: WORKSPACES_PATH,
  query: [] as [string, string][],
  headers: [] as [string, string][],
  contentType: 'application/json',
  body: '',
};

/** As much of a tab's storage as is used; full from `most` characters on. */
export function createStore(most = Infinity) {
  const values = new Map<string, string>();
  return {
    values,
    getItem: (key: string) => values.get(key) ?? null,
    setItem(key: string, value: string) {
      if (value.length > most) throw new Error('QuotaExceededError');
      values.set(key, value);
    },
    removeItem: (key: string) => void values.delete(key),
  };
}
