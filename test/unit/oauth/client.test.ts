import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { expect, test } from '@jest/globals';
import { NotSentError, createTokenRequestSender } from '../../../src/oauth/client.ts';
import { TOKEN_PATH, WORKSPACES_PATH } from '../../support/constants.ts';
import { startTestApp } from '../../support/test-app.ts';
import { eventually } from '../../support/eventually.ts';
import { startTcpServer } from '../../support/tcp-server.ts';

const REQUEST = {
  method: 'POST',
  headers: { 'content-type': 'application/x-www-form-urlencoded' },
  body: 'grant_type=refresh_token',
  redirect: 'manual',
} as const;

/** Starts a token endpoint that calls `respond` once for each complete request. */
async function startEndpoint(respond: (socket: Socket) => void) {
  const requests: string[] = [];
  const server = await startTcpServer((socket) => {
    let text = '';
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      text += chunk;
      if (!text.endsWith(REQUEST.body)) return;
      requests.push(text);
      respond(socket);
    });
  });
  return {
    requests,
    send: async (signal?: AbortSignal, maySend?: () => boolean) =>
      createTokenRequestSender(10_000)(
        `http://127.0.0.1:${server.port}/token?x=1`,
        { ...REQUEST, ...(signal && { signal }) },
        maySend,
      ),
    sockets: server.sockets,
    [Symbol.asyncDispose]: async () => server[Symbol.asyncDispose](),
  };
}

test('a token request uses a separate connection and does not accept content codings', async () => {
  await using endpoint = await startEndpoint((socket) =>
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n\xef\xbb\xbf{}', 'latin1'),
  );
  expect(await endpoint.send()).toEqual({ status: 200, text: '{}' });
  const [head = ''] = endpoint.requests;
  expect(head).toMatch(/^POST \/token\?x=1 HTTP\/1\.1\r\n/);
  expect(head).toMatch(/\r\nconnection: close\r\n/i);
  expect(head).not.toMatch(/\r\naccept-encoding:/i);
});

test('a token response with a content coding is not decoded', async () => {
  const coded = gzipSync('{"access_token":"a"}');
  await using endpoint = await startEndpoint((socket) => {
    socket.write(`HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: ${coded.length}\r\n\r\n`);
    socket.write(coded);
  });
  expect((await endpoint.send()).text).not.toContain('access_token');
});

test.each([80, 100, 130, 250])('a close-delimited token response of %i KiB is read in full', async (kib) => {
  const text = 'a'.repeat(kib * 1024);
  await using endpoint = await startEndpoint((socket) =>
    socket.end(`HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n${text}`),
  );
  const responses = await Promise.all(Array.from({ length: 8 }, async () => endpoint.send()));
  expect(responses.every((response) => response.text === text)).toBe(true);
});

test('a token response of more than 256 KiB is refused, and its connection is closed', async () => {
  let closed: Promise<unknown> = Promise.resolve();
  await using endpoint = await startEndpoint((socket) => {
    closed = new Promise((resolve) => socket.once('close', resolve));
    socket.write('HTTP/1.1 200 OK\r\n\r\n');
    const more = () => {
      while (socket.writable && socket.write('a'.repeat(65_536)));
    };
    socket.on('drain', more).on('error', () => {});
    more();
  });
  await expect(endpoint.send()).rejects.toThrow('too large');
  await closed;
});

test('an aborted token request closes its connection', async () => {
  let closed: Promise<unknown> = Promise.resolve();
  const controller = new AbortController();
  await using endpoint = await startEndpoint((socket) => {
    closed = new Promise((resolve) => socket.once('close', resolve));
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{', () => controller.abort(new Error('late')));
  });
  await expect(endpoint.send(controller.signal)).rejects.toThrow('late');
  await closed;
});

test('a token request is not sent if its caller cancels it once the connection is open', async () => {
  await using endpoint = await startEndpoint((socket) => socket.end());
  const steps: string[] = [];
  const onConnected = () => steps.push('connected');
  subscribe('undici:client:connected', onConnected);
  try {
    const declined = endpoint.send(undefined, () => {
      steps.push('asked');
      return false;
    });
    await expect(declined).rejects.toThrow(NotSentError);
  } finally {
    unsubscribe('undici:client:connected', onConnected);
  }
  expect(steps).toEqual(['connected', 'asked']);
  await eventually(async () => endpoint.sockets.size === 0);
  expect(endpoint.requests).toEqual([]);
});

test('a duplicate token response is never used for the next user', async () => {
  await using testApp = await startTestApp();
  const sockets: Socket[] = [];
  const tokenResponse = (name: string) => {
    const body = JSON.stringify({ access_token: `token-of-${name}`, expires_in: 900 });
    return `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  };
  testApp.intercept = (req, res) => {
    if (req.url !== TOKEN_PATH) return Boolean(res.end(req.headers.authorization));
    let form = '';
    req.setEncoding('utf8').on('data', (chunk: string) => (form += chunk));
    req.on('end', () => {
      const name = new URLSearchParams(form).get('refresh_token') ?? '';
      // The duplicate response arrives after the next user's request has been sent.
      if (name === 'bob' && sockets[0]?.writable) sockets[0].write(tokenResponse('alice'));
      sockets.push(req.socket);
      req.socket.write(tokenResponse(name));
    });
    return true;
  };
  for (const name of ['alice', 'bob']) {
    const { cookie } = await testApp.createSession({ refreshToken: name, expiresAt: 0 });
    const response = await fetch(testApp.origin + WORKSPACES_PATH, { headers: { cookie } });
    expect(await response.text()).toBe(`Bearer token-of-${name}`);
  }
});
