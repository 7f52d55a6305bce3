import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { afterEach, describe, expect, test } from '@jest/globals';
import request from 'supertest';
import { WORKSPACES_PATH } from '../../support/constants.ts';
import { startServiceFixture, useLocalService } from '../../support/local-service/fixture.ts';

const { fixture, service } = useLocalService({ faults: true });
afterEach(async () => {
  await request(service).delete('/_faults').expect(200);
});

const post = (fields: object | string) => request(service).post('/_faults').send(fields);
const active = async () =>
  ((await request(service).get('/_faults').expect(200)).body as { faults: unknown[] }).faults;

describe('a program that uses /_faults', () => {
  test('can set a fault with JSON and list the active faults', async () => {
    const fault = { route: 'token', fault: 'status', status: 400 };
    const res = await post({ ...fault, body: { error: 'invalid_grant' }, calls: 3 }).expect(200);
    const shown = { ...fault, callsLeft: 3, body: '{"error":"invalid_grant"}' };
    expect(res.body).toEqual({ faults: [shown] });
    expect(await active()).toEqual([shown]);
  });

  test('can set a fault with a form', async () => {
    await post('route=rooms&fault=rate-limit&retryAfter=5&latencyMs=10&calls=').expect(200);
    expect(await active()).toEqual([{ route: 'rooms', fault: 'rate-limit', latencyMs: 10, retryAfter: 5 }]);
  });

  test('can replace the fault for a route', async () => {
    await post({ route: 'rooms', fault: 'cut', calls: 2 });
    await post({ route: 'rooms', fault: 'reset-after' });
    expect(await active()).toEqual([{ route: 'rooms', fault: 'reset-after' }]);
  });

  test('can clear all faults, or only the fault for one route', async () => {
    for (const route of ['rooms', 'murals', 'token', 'any']) await post({ route, fault: 'cut' });
    await post({ route: 'rooms', fault: 'none' }).expect(200);
    await request(service).delete('/_faults?route=murals').expect(200);
    expect(await active()).toHaveLength(2);
    await post({ fault: 'none' }).expect(200);
    expect(await active()).toEqual([]);
  });

  const refused: [fields: string | object, problem: RegExp][] = [
    ['route=token', /^fault must be one of: latency, /],
    ['fault=cut', /route is missing/],
    ['route=token&fault=flood', /fault must be one of: latency, /],
    ['route=users&fault=cut', /route must be one of: authorization, /],
    ['route=token&fault=cut&times=3', /there is no field times$/],
    ['route=token&fault=cut&calls=0', /calls must be a whole number from 1/],
    ['route=token&fault=status&status=199', /status must be/],
    ['route=token&fault=status', /status is missing/],
    ['route=token&fault=cut&status=500', /only for the fault status/],
    ['route=token&fault=latency', /latencyMs is missing/],
    ['route=any&fault=status&status=500&contentType=a/b%0D%0Ax:y', /^contentType must be a media type/],
    ['route=token&fault=access-token-revoked', /route must be one of/],
    ['route=workspace&fault=next-expired', /route must be one of/],
    ['route=token&route=rooms&fault=cut', /each field once/],
    [[], /JSON object/],
    [{ route: 'token', fault: 'cut', calls: true }, /strings and numbers/],
  ];
  test.each(refused)('gets an error that describes the problem in %j', async (fields, problem) => {
    const res = await post(fields);
    expect(res.status).toBe(400);
    expect(res.body).toEqual({ code: 'FAULT_INVALID', message: expect.stringMatching(problem), details: [] });
    expect(await active()).toEqual([]);
  });

  test('gets an error that lists all problems together', async () => {
    const res = await post({ route: 'x', fault: 'y', calls: 'z' });
    expect((res.body as { message: string }).message.split('; ')).toHaveLength(3);
  });

  test('cannot clear faults with an unknown route or field, or with two routes', async () => {
    await post({ route: 'rooms', fault: 'cut' });
    for (const query of ['route=users', 'rout=rooms', 'route=rooms&route=murals']) {
      await request(service).delete(`/_faults?${query}`).expect(400);
    }
    expect(await active()).toHaveLength(1);
  });

  test('gets an error for an invalid body', async () => {
    expect((await request(service).post('/_faults').type('json').send('{"route":')).status).toBe(400);
    expect((await post({ route: 'any', fault: 'cut', body: 'x'.repeat(20_000) })).status).toBe(413);
    expect((await request(service).post('/_faults').type('text/plain').send('route=any')).status).toBe(400);
  });

  test('gets the allowed methods in response to an unsupported method', async () => {
    const res = await request(service).put('/_faults').expect(405);
    expect(res.get('allow')).toBe('GET, HEAD, POST, DELETE');
  });
});

describe('a browser that uses /_faults', () => {
  const inBrowser = (sent: request.Test) => sent.set('accept', 'text/html,application/xhtml+xml,*/*;q=0.8');

  test('gets a form and a note that no fault is set', async () => {
    const res = await inBrowser(request(service).get('/_faults')).expect(200);
    expect(res.type).toBe('text/html');
    expect(res.text).toContain('No faults are set');
  });

  test('can set a fault, and the page then shows the number of remaining requests and a button to clear the fault', async () => {
    const form = 'route=murals&fault=status&status=418&calls=1&latencyMs=&body=&contentType=&retryAfter=';
    const posted = await inBrowser(post(form)).expect(303);
    expect(posted.get('location')).toBe('/_faults#now');
    const { text } = await inBrowser(request(service).get('/_faults'));
    expect(text).toContain('Custom status, 418');
    expect(text).toContain('1 more request<');
    expect(text).toContain('aria-label="Clear: Murals in a workspace"');
  });

  test('gets a refused form back with the entered values and a list of all problems', async () => {
    const res = await inBrowser(post('route=murals&fault=status&status=9000&body=%3Cb%3E&calls=')).expect(
      400,
    );
    expect(res.text).toContain('<li id="problem-status">status must be');
    expect(res.text).toContain('aria-invalid="true" aria-describedby="problem-status"');
    expect(res.text).toContain('value="9000"');
    expect(res.text).toContain('&lt;b&gt;</textarea>');
    expect(res.text).toContain('<option value="murals" selected>');
  });

  test('can submit fields that belong to another fault, but they are ignored', async () => {
    await inBrowser(post('route=murals&fault=cut&status=500&body=x&retryAfter=3&calls=')).expect(303);
    expect(await active()).toEqual([{ route: 'murals', fault: 'cut' }]);
  });

  test('gets a working button for each common fault', async () => {
    const { text } = await inBrowser(request(service).get('/_faults'));
    const forms = text.split('<h2')[2]?.match(/<form[^]*?<\/form>/g) ?? [];
    expect(forms).toHaveLength(4);
    for (const form of forms) {
      const fields = [...form.matchAll(/name="(?<name>\w+)" value="(?<value>[^"]*)"/g)];
      const body = new URLSearchParams(
        fields.map(({ groups }): [string, string] => [groups?.['name'] ?? '', groups?.['value'] ?? '']),
      );
      await inBrowser(post(body.toString())).expect(303);
    }
  });

  test('can follow a link to the form from another site', async () => {
    await inBrowser(request(service).get('/_faults')).set('sec-fetch-site', 'cross-site').expect(200);
  });

  test('gets a link from the front page to the form only if faults are enabled', async () => {
    expect((await request(service).get('/')).text).toContain('href="/_faults"');
    expect((await request(await fixture.start()).get('/')).text).not.toContain('_faults');
  });
});

describe('a request to /_faults', () => {
  test.each([
    ['if the request comes through a proxy', { 'x-forwarded-for': '203.0.113.9' }],
    ['if a proxy adds a Forwarded header', { forwarded: 'for=203.0.113.9' }],
    ['if the Host header has a different name (DNS rebinding)', { host: 'attacker.example' }],
    ['if a page on another site sends the request', { 'sec-fetch-site': 'cross-site' }],
    ['if a page on another port sends the request', { 'sec-fetch-site': 'same-site' }],
    ['if the Origin header names another site', { origin: 'https://attacker.example' }],
    ['if the Origin header is null', { origin: 'null' }],
  ])('a request to /_faults is refused %s', async (_name, headers: Record<string, string>) => {
    const res = await post({ route: 'any', fault: 'cut' }).set(headers);
    expect(res.status).toBe(403);
    expect(await active()).toEqual([]);
  });

  test('a request to /_faults from another machine is refused, whatever its method', async () => {
    const [listener] = service.listeners('request') as RequestListener[];
    const remote = createServer((req, res) => {
      Object.defineProperty(req.socket, 'remoteAddress', { value: '192.0.2.7' });
      listener?.(req, res);
    }).listen(0, '127.0.0.1');
    await once(remote, 'listening');
    await request(remote).get('/_faults').expect(403);
    await request(remote).post('/_faults').send({ route: 'any', fault: 'cut' }).expect(403);
    await request(remote).delete('/_faults').expect(403);
    await request(remote).get('/').expect(200);
    remote.close();
  });

  test('a request to /_faults from a page on the same origin is accepted', async () => {
    const { port } = service.address() as { port: number };
    await post({ route: 'any', fault: 'cut' })
      .set({ host: `localhost:${port}`, origin: `http://localhost:${port}`, 'sec-fetch-site': 'same-origin' })
      .expect(200);
  });
});

test('every fault in Redis has a time to live', async () => {
  await post({ route: 'any', fault: 'cut' });
  await post({ route: 'rooms', fault: 'cut', calls: 2 });
  await request(service)
    .get('/api/public/v1/workspaces/x/rooms')
    .catch(() => {});
  const keys = await fixture.redis.keys('local-service:fault*');
  expect(keys).toHaveLength(2);
  for (const key of keys) expect(await fixture.redis.ttl(key)).toBeGreaterThan(80_000);
});

test('while Redis is down, a request gets a 503 instead of the fault', async () => {
  await using own = await startServiceFixture();
  const withoutRedis = await own.start({ faults: true });
  await request(withoutRedis).post('/_faults').send({ route: 'any', fault: 'reset-before' }).expect(200);
  own.redis.disconnect();
  await request(withoutRedis).get(WORKSPACES_PATH).set('authorization', 'Bearer x').expect(503);
  await request(withoutRedis).get('/_faults').expect(503);
  const page = await request(withoutRedis).get('/api/public/v1/authorization/oauth2/').set('accept', '*/*');
  expect(page.type).toBe('text/html');
  const list = await request(withoutRedis).get(WORKSPACES_PATH).set('accept', 'text/html');
  expect(list.type).toBe('application/json');
});
