import { expect, test } from '@jest/globals';
import { API_PATH, WORKSPACES_PATH } from '../support/constants.ts';
import { press, startConsole } from '../support/e2e/console-page.ts';
import { pageViolations } from '../support/e2e/page-checks.ts';
import { signInAtService } from '../support/e2e/watched-page.ts';

const at = startConsole();

test('each code listing is a named region, and its button copies the code unchanged', async () => {
  const watched = await at.open({}, '/console/guide');
  const { page, context } = watched;
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  for (const name of ['fetch-api.js', 'pages.js', 'show-workspaces.js', 'vite.config.js']) {
    const listing = page.locator('[data-listing]').filter({ hasText: name }).first();
    await press(page, `Copy ${name}`);
    await listing.getByText('The code was copied.').waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(
      await page.getByRole('region', { name }).textContent(),
    );
  }
  expect(await page.getByRole('button', { name: /^Copy/ }).count()).toBe(5);
  expect(await pageViolations(watched)).toEqual([]);
  expect(watched.browserErrors).toEqual([]);
});

test('if the browser refuses to copy a listing, the page selects the text for the user', async () => {
  const { page } = await at.open({}, '/console/guide');
  await page.evaluate(`navigator.clipboard.writeText = () => Promise.reject(new Error('not allowed'))`);
  await press(page, 'Copy pages.js');
  await page.getByText('The code is selected, so you can copy it yourself.').waitFor();
  expect(await page.evaluate('getSelection().toString().trim()')).toBe(
    await page.getByRole('region', { name: 'pages.js' }).innerText(),
  );
});

test('without JavaScript, the guide shows no copy buttons', async () => {
  const { page } = await at.open({ javaScriptEnabled: false }, '/console/guide');
  expect(await page.getByRole('region').count()).toBe(5);
  expect(await page.getByRole('button').allInnerTexts()).toEqual(['Sign out']);
});

/** Runs code in the page with the exports of the guide in scope and returns the result. */
async function run(code: string): Promise<unknown> {
  const { page } = await at.open({}, '/console/guide');
  at.e2e.testApp.serviceRequests.length = 0;
  return await page.evaluate(`(async () => {
    const { ApiError, fetchApi } = await import('/assets/guide/fetch-api.js');
    const { pages } = await import('/assets/guide/pages.js');
    const { showWorkspaces } = await import('/assets/guide/show-workspaces.js');
    ${code}
  })()`);
}

/** Wraps code so that an error is returned instead of thrown. */
const failing = (code: string) =>
  `try { ${code} } catch (error) { return { ...error, message: error.message, isApiError: error instanceof ApiError }; }`;

const lists = () => at.e2e.testApp.serviceRequests.filter(({ url }) => url.includes('workspaces?'));

test('showWorkspaces lists every workspace once and requests each page with the same limit', async () => {
  const listed = await run(`
    const list = document.createElement('ol');
    await showWorkspaces(list);
    return [...list.children].map(({ textContent }) => textContent);
  `);
  expect(listed).toHaveLength(137);
  expect(new Set(listed as string[]).size).toBe(137);
  const limits = lists().map(({ url }) => new URL(url, 'http://x').searchParams.get('limit'));
  expect(limits).toEqual(['50', '50', '50']);
});

test('pages() requests a page only when the loop reaches it', async () => {
  await run(`for await (const _first of pages('/api/public/v1/workspaces', { limit: 10 })) break;`);
  expect(lists()).toHaveLength(1);
});

test('a request is retried after the time in the Retry-After header', async () => {
  const statuses = [429, 503];
  at.e2e.testApp.intercept = (req, res) => {
    const status = req.url?.startsWith(WORKSPACES_PATH) === true ? statuses.shift() : undefined;
    return status !== undefined && Boolean(res.writeHead(status, { 'retry-after': '0' }).end());
  };
  expect(
    await run(`return (await Array.fromAsync(pages('/api/public/v1/workspaces', { limit: 100 }))).length;`),
  ).toBe(137);
});

test('a request is retried at most four times', async () => {
  at.respondWith(429, { 'retry-after': '0' });
  expect(await run(failing(`await pages('${API_PATH}').next();`))).toMatchObject({
    status: 429,
    isFromService: true,
  });
  expect(at.e2e.testApp.serviceRequests).toHaveLength(5);
});

test('aborting a request also ends the pause before a retry', async () => {
  at.respondWith(429, { 'retry-after': '3600' });
  const failed = await run(`
    const control = new AbortController();
    const first = pages('${API_PATH}', { signal: control.signal }).next();
    setTimeout(() => control.abort(), 200);
    ${failing('await first;')}
  `);
  expect(failed).toMatchObject({ isApiError: false, message: expect.stringMatching(/abort/i) });
});

test('a repeated cursor ends the iteration with an error', async () => {
  at.respondWith(200, { 'content-type': 'application/json' }, '{"value":[1],"next":"n"}');
  expect(await run(failing(`await Array.fromAsync(pages('${API_PATH}'));`))).toMatchObject({
    message: 'the service returned the same cursor twice',
  });
});

test('an ApiError shows whether the service or the gateway refused the request', async () => {
  const json = { 'content-type': 'application/json' };
  at.respondWith(404, json, '{"code":"THING_NOT_FOUND","message":"No such thing"}');
  expect(await run(failing(`await fetchApi('${API_PATH}');`))).toMatchObject({
    ...{ status: 404, code: 'THING_NOT_FOUND', message: 'No such thing' },
    ...{ isFromService: true, isApiError: true },
  });
  expect(await run(failing(`await fetchApi('/api/nothing');`))).toMatchObject({
    ...{ status: 404, code: 'path_not_allowed', isFromService: false, isApiError: true },
    requestId: expect.stringMatching(/^[\da-f-]{36}$/),
  });
});

test.each(['null', '{', ''])('an error response with the body %j still becomes an ApiError', async (body) => {
  at.respondWith(500, { 'content-type': 'application/json' }, body);
  expect(await run(failing(`await fetchApi('${API_PATH}');`))).toMatchObject({
    status: 500,
    message: 'The API responded with 500',
  });
});

test('a request without a session leads to sign-in and back, but a 401 from the service does not', async () => {
  const { page, context } = await at.open({}, '/console/guide#vite');
  const request = `import('/assets/guide/fetch-api.js').then(({ fetchApi }) => fetchApi('${API_PATH}')).catch(() => 'failed')`;
  at.e2e.testApp.intercept = (req, res) => req.url === API_PATH && Boolean(res.writeHead(401).end());
  expect(await page.evaluate(request)).toBe('failed');
  expect(page.url()).toMatch(/guide#vite$/);

  await context.clearCookies({ name: 'cloakroom' });
  await Promise.all([page.waitForURL(/authorization\/oauth2/), page.evaluate(request).catch(() => {})]);
  await signInAtService(page);
  await page.waitForURL(`${at.e2e.testApp.origin}/console/guide#vite`);
});
