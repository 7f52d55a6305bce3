import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startTestApp } from '../support/test-app.ts';
import type { TestApp } from '../support/test-app.ts';
import { startRawService } from '../support/raw-service.ts';
import type { RawService } from '../support/raw-service.ts';
import { sendRaw } from '../support/raw.ts';
import { requestText, statusesOf } from './request-text.ts';

let testApp: TestApp;
let service: RawService;
beforeAll(async () => {
  service = await startRawService();
  testApp = await startTestApp({ SERVICE_URL: service.origin });
});
afterAll(async () => {
  await testApp[Symbol.asyncDispose]();
  await service[Symbol.asyncDispose]();
});

async function answerTo(bytes: string): Promise<string> {
  service.answer = () => bytes;
  const { cookie } = await testApp.createSession();
  return sendRaw(testApp, requestText({ fields: [`Cookie: ${cookie}`] }));
}

test('a 304 may say how long the answer would have been (RFC 9110 §8.6), and is whole without it', async () => {
  const answer = await answerTo('HTTP/1.1 304 Not Modified\r\nETag: "e"\r\nContent-Length: 5\r\n\r\n');
  expect(statusesOf(answer)).toEqual([304]);
  expect(answer).toMatch(/\r\netag: "e"\r\n[\s\S]*\r\n\r\n$/i);
  const { cookie } = await testApp.createSession();
  const response = await fetch(`${testApp.origin}/api/public/v1/things`, { headers: { cookie } });
  expect(response.headers.get('etag')).toBe('"e"');
});

test('a 204 has no length (RFC 9110 §8.6), whatever the service says', async () => {
  const answer = await answerTo('HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n');
  expect(statusesOf(answer)).toEqual([204]);
  expect(answer).not.toMatch(/\r\ncontent-length:/i);
});
