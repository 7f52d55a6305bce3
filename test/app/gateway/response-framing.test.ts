import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { API_PATH as PATH } from '../../support/constants.ts';
import { startRawApp } from '../../support/raw-app.ts';
import type { RawApp } from '../../support/raw-app.ts';
import { dechunk, valuesOf } from '../../support/raw-message.ts';
import { last, ok } from '../../support/raw-service.ts';

// How the service says where its answer ends, and what comes of that at the browser.

let raw: RawApp;
beforeAll(async () => {
  raw = await startRawApp();
});
afterAll(async () => raw[Symbol.asyncDispose]());

/** The body of the answer to a call, by whichever framing it came; null where it has no end. */
async function bodyFor(answer: string): Promise<string | null> {
  raw.service.answer = () => answer;
  const came = await raw.send(`GET ${PATH}`);
  const isChunked = valuesOf(came, 'transfer-encoding').length > 0;
  return (isChunked ? dechunk(came.rest) : came.rest)?.toString('latin1') ?? null;
}

const HEAD = 'HTTP/1.1 200 OK\r\n';

test('chunks come with their bytes, but without extensions and trailers', async () => {
  const fields = 'Transfer-Encoding: chunked\r\nTrailer: X-Trail, Set-Cookie\r\n\r\n';
  const body = '3;name=value\r\none\r\n0003\r\ntwo\r\n0\r\nX-Trail: 1\r\nSet-Cookie: hostile=1\r\n\r\n';
  raw.service.answer = () => HEAD + fields + body;
  const answer = await raw.send(`GET ${PATH}`);
  expect(dechunk(answer.rest)?.toString()).toBe('onetwo');
  expect(valuesOf(answer, 'trailer')).toEqual([]);
  expect(answer.rest.toString('latin1')).not.toMatch(/name|X-Trail|hostile/i);
  expect(await bodyFor(ok('next'))).toBe('next');
});

test('an answer that ends with its connection is whole', async () => {
  raw.service.answer = (_request, socket) => {
    socket.end(`${HEAD}\r\nuntil the end`);
    return null;
  };
  const answer = await raw.send(`GET ${PATH}`);
  expect(valuesOf(answer, 'content-length')).toEqual([]);
  const isChunked = valuesOf(answer, 'transfer-encoding').length > 0;
  expect((isChunked ? dechunk(answer.rest) : answer.rest)?.toString()).toBe('until the end');
  expect(await bodyFor(ok('next'))).toBe('next');
});

test.each(['', 'Connection: keep-alive\r\n'])(
  'an answer of HTTP/1.0 comes as one of HTTP/1.1 (%j)',
  async (field) => {
    raw.service.answer = (_request, socket) => {
      socket.end(`HTTP/1.0 200 OK\r\n${field}Content-Length: 3\r\n\r\nold`);
      return null;
    };
    const answer = await raw.send(`GET ${PATH}`);
    expect(answer.start).toBe('HTTP/1.1 200 OK');
    expect(answer.rest.toString()).toBe('old');
    expect(await bodyFor(ok('next'))).toBe('next');
  },
);

test('early hints, one after the other, reach nobody and change nothing', async () => {
  const hints = 'HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\nX-Early: 1\r\n\r\n';
  raw.service.answer = () => hints + hints + 'HTTP/1.1 102 Processing\r\n\r\n' + ok('late');
  const answer = await raw.send(`GET ${PATH}`);
  expect(answer.start).toBe('HTTP/1.1 200 OK');
  expect(valuesOf(answer, 'x-early')).toEqual([]);
  expect(answer.rest.toString()).toBe('late');
});

test('what follows an answer on its connection reaches nobody', async () => {
  expect(await bodyFor(ok('asked') + ok('planted'))).toBe('asked');
  expect(await bodyFor(ok('next'))).toBe('next');
});

test('a call on a kept connection that the service closes meanwhile goes over a new one', async () => {
  expect(await bodyFor(last('one'))).toBe('one');
  for (const socket of raw.service.sockets) socket.destroy();
  expect(await bodyFor(ok('two'))).toBe('two');
});

// undici takes it for a fault (RFC 9110 §15.2 would have it left out); what counts is that it is no answer to anybody.
test('a 100 that nobody asked for is never taken for the answer', async () => {
  raw.service.answer = () => `HTTP/1.1 100 Continue\r\n\r\n${ok('then')}`;
  const { start } = await raw.send(`GET ${PATH}`);
  expect(start).toMatch(/^HTTP\/1.1 (?:200|502) /);
  expect(await bodyFor(ok('next'))).toBe('next');
});

test('an answer in a coding that belongs to its connection is refused, not handed on without it', async () => {
  raw.service.answer = () =>
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n';
  const { start } = await raw.send(`GET ${PATH}`);
  expect(start).toMatch(/^HTTP\/1.1 502 /);
});
