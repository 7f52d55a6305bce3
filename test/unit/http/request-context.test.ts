import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { expect, test } from '@jest/globals';
import { createLog } from '../../../src/observability/logger.ts';
import { createAccessLog } from '../../../src/http/access-log.ts';
import { requestContext } from '../../../src/http/request-context.ts';

const answer = () => {
  const req = new IncomingMessage(new Socket());
  return { req, res: new ServerResponse(req) };
};

test('the notes of a request are those that were taken down, and are added to in one place', () => {
  const { req, res } = answer();
  const request = createAccessLog({ log: createLog('silent') }).begin(req, res, '/a');
  requestContext(res).token = 'renewed';
  expect(request.token).toBe('renewed');
});

test('who asks for notes that nobody keeps is told so', () => {
  expect(() => requestContext(answer().res)).toThrow('nobody keeps notes of this request');
});
