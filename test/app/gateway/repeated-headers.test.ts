import { expect, test } from '@jest/globals';
import { startTestApp } from '../../support/test-app.ts';
import { sendRaw } from '../../support/raw.ts';

test('a header that the service sends twice comes twice', async () => {
  await using testApp = await startTestApp();
  testApp.intercept = (_req, res) => Boolean(res.setHeader('link', ['a', 'b']).end());
  const { cookie } = await testApp.enter();
  const answer = await sendRaw(
    testApp,
    `GET /api/public/v1/things HTTP/1.1\r\nHost: x\r\nCookie: ${cookie}\r\nConnection: close\r\n\r\n`,
  );
  expect(answer.match(/^link: .*$/gim)).toEqual(['link: a', 'link: b']);
});
