import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { MOST_DUE } from '../../src/platform/due-answers.ts';
import { startHouse } from '../support/house.ts';
import type { House } from '../support/house.ts';
import { eventually } from '../support/programs.ts';
import { openConnection } from '../support/raw-client.ts';
import type { RawEnd } from '../support/raw-client.ts';
import { sendRaw } from '../support/raw.ts';

let house: House;
let cookie: string;
beforeAll(async () => {
  house = await startHouse();
  ({ cookie } = await house.enter());
});
afterAll(async () => house[Symbol.asyncDispose]());
beforeEach(() => {
  house.calls.length = 0;
  house.logged.length = 0;
});

const ask = (path: string, ...fields: string[]) =>
  [`GET ${path} HTTP/1.1`, 'Host: x', ...fields, '', ''].join('\r\n');
const statusesOf = (answers: string) => answers.match(/HTTP\/1\.1 \d+/g) ?? [];
const answered = async (client: RawEnd, times: number) =>
  eventually(async () => client.text().split('{"status":"ok"}').length > times);

describe('of a thousand requests that come at once on a connection', () => {
  test.each(['/openapi.json', '/', '/healthz', '/api/public/v1/things'])(
    '%s is answered as often as answers may be due, and the last one says that it is',
    async (path) => {
      const answers = await sendRaw(house, ask(path).repeat(1_000));
      expect(statusesOf(answers)).toHaveLength(MOST_DUE);
      expect(answers.match(/^connection: close\r$/gim)).toHaveLength(1);
      expect(answers.lastIndexOf('HTTP/1.1 ')).toBeLessThan(answers.search(/^connection: close\r$/im));
      // Nor was more than that begun.
      expect(house.logged.filter((line) => line.includes('"msg":"request"'))).toHaveLength(MOST_DUE);
    },
  );

  test('so many calls get to the service, and no more', async () => {
    house.intercept = (_req, res) => Boolean(res.end('{"value":[]}'));
    const call = ask('/api/public/v1/things', `Cookie: ${cookie}`);
    expect(statusesOf(await sendRaw(house, call.repeat(1_000)))).toHaveLength(MOST_DUE);
    expect(house.calls).toHaveLength(MOST_DUE);
  });
});

test('who waits for each answer may go on for ever', async () => {
  const client = await openConnection(house.config.port);
  for (let asked = 1; asked <= 2 * MOST_DUE; asked += 1) {
    client.socket.write(ask('/healthz'));
    await answered(client, asked);
  }
  expect(client.text()).not.toMatch(/connection: close/i);
  client.socket.destroy();
});

test('fewer at once leave their connection open', async () => {
  const client = await openConnection(house.config.port);
  client.socket.write(ask('/healthz').repeat(MOST_DUE - 1));
  await answered(client, MOST_DUE - 1);
  client.socket.write(ask('/healthz', 'Connection: close'));
  expect(await client.over).toBe('end');
  expect(statusesOf(client.text())).toHaveLength(MOST_DUE);
});

test('the body of the last one is read whole', async () => {
  const bodies: string[] = [];
  house.intercept = (req, res) => {
    let body = '';
    req.setEncoding('utf8').on('data', (part: string) => (body += part));
    req.on('end', () => {
      bodies.push(body);
      res.end('{}');
    });
    return true;
  };
  const client = await openConnection(house.config.port);
  const length = 300_000;
  const head = ['POST /api/public/v1/things HTTP/1.1', 'Host: x', `Cookie: ${cookie}`];
  head.push('X-Requested-With: x', `Content-Length: ${length}`, '', '');
  client.socket.write(ask('/healthz').repeat(MOST_DUE - 1) + head.join('\r\n') + 'a');
  await client.until('{"status":"ok"}');
  client.socket.write('a'.repeat(length - 1) + ask('/healthz').repeat(10));
  expect(await client.over).toBe('end');
  expect(statusesOf(client.text())).toHaveLength(MOST_DUE);
  expect(bodies.map((body) => body.length)).toEqual([length]);
});

test('what can’t be read of the last one’s body is refused', async () => {
  const post = ['POST /api/public/v1/things HTTP/1.1', 'Host: x', `Cookie: ${cookie}`];
  post.push('X-Requested-With: x', 'Transfer-Encoding: chunked', '', 'nonsense\r\n');
  house.intercept = (req) => Boolean(req.resume());
  const answers = await sendRaw(house, ask('/healthz').repeat(MOST_DUE - 1) + post.join('\r\n'));
  expect(statusesOf(answers).at(-1)).toBe('HTTP/1.1 400');
});
