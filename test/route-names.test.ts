import { expect, test } from '@jest/globals';
import { toRouteName } from '../src/route-names.ts';

test.each([
  ['/', '/'],
  ['/?return_to=/a', '/'],
  ['/auth/login?return_to=%2Fworkspaces', '/auth/login'],
  ['/auth/callback?code=a&state=b', '/auth/callback'],
  ['/workspaces/', '/workspaces'],
  ['/Workspaces', 'none'],
  ['/AUTH/login', 'none'],
  ['/API/public/v1/things', 'none'],
  ['/workspaces?page=2', '/workspaces'],
  ['/workspaces.csv', '/workspaces.csv'],
  ['/workspaces.ndjson', '/workspaces.ndjson'],
  ['/workspaces/alpha', '/workspaces/{id}'],
  ['/workspaces/alpha.beta', '/workspaces/{id}'],
  ['/workspaces/alpha/rooms', '/workspaces/{id}/{kind}'],
  ['/workspaces/alpha/rooms/', '/workspaces/{id}/{kind}'],
  ['/workspaces/alpha/rooms.csv?a=b', '/workspaces/{id}/{kind}.csv'],
  ['/workspaces/alpha/murals.ndjson', '/workspaces/{id}/{kind}.ndjson'],
  ['/workspaces/alpha/rooms/one', 'none'],
  ['/workspaces/alpha.csv', '/workspaces/{id}'],
  ['/api/public/v1/things', '/api/*'],
  ['/api', '/api/*'],
  ['/apis', 'none'],
  ['/assets/abc/cloakroom.css', '/assets/*'],
  ['/console/guide', '/console/guide'],
  ['/wp-login.php', 'none'],
  ['//', 'none'],
  ['*', 'none'],
  ['', 'none'],
  ['http://elsewhere/workspaces', 'none'],
])('%s is %s', (target, route) => {
  expect(toRouteName(target)).toBe(route);
});
