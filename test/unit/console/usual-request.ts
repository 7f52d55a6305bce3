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
