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

test('a handler finds the context of its request, and adds to it', () => {
  const { req, res } = answer();
  const request = createAccessLog({ log: createLog('silent') }).begin(req, res, '/a');
  requestContext(res).token = 'renewed';
  expect(request.token).toBe('renewed');
});

test('a response without a context throws an error that says what makes one', () => {
  expect(() => requestContext(answer().res)).toThrow('AccessLog.begin() makes one');
});
