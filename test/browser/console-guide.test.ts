import { expect, test } from '@jest/globals';
import { API_PATH } from '../support/constants.ts';
import { press, startConsole } from '../support/e2e/console-page.ts';
import { pageFaults } from '../support/e2e/page-checks.ts';
import { passService } from '../support/e2e/watched-page.ts';

// The guide, and the code that it shows, as a page of this origin runs it.

const at = startConsole();

test('Each listing is a region by its name, and is copied as it stands', async () => {
  await using watched = await at.open({}, '/console/guide');
  const { page, context } = watched;
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  for (const name of ['fetch-api.js', 'pages.js', 'show-workspaces.js', 'vite.config.js']) {
    const listing = page.locator('[data-listing]').filter({ hasText: name }).first();
    await press(page, `Copy ${name}`);
    await listing.getByText('The code is copied.').waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(
      await page.getByRole('region', { name }).textContent(),
    );
  }
  expect(await page.getByRole('button', { name: /^Copy/ }).count()).toBe(5);
  expect(await pageFaults(watched)).toEqual([]);
  expect(watched.complaints).toEqual([]);
});

test('A listing that the browser does not let the page copy is selected for the reader', async () => {
  await using watched = await at.open({}, '/console/guide');
  const { page } = watched;
  await page.evaluate(`navigator.clipboard.writeText = () => Promise.reject(new Error('not allowed'))`);
  await press(page, 'Copy pages.js');
  await page.getByText('The code is selected: copy it yourself.').waitFor();
  expect(await page.evaluate('getSelection().toString().trim()')).toBe(
    await page.getByRole('region', { name: 'pages.js' }).innerText(),
  );
});

test('Without JavaScript there is nothing to press in vain', async () => {
  await using watched = await at.open({ javaScriptEnabled: false }, '/console/guide');
  const { page } = watched;
  expect(await page.getByRole('region').count()).toBe(5);
  expect(await page.getByRole('button').allInnerTexts()).toEqual(['Sign out']);
});

/** Runs code that has the guide's exports at hand; gives what it returns. */
async function run(code: string): Promise<unknown> {
  await using watched = await at.open({}, '/console/guide');
  at.e2e.testApp.serviceRequests.length = 0;
  return await watched.page.evaluate(`(async () => {
    const { ApiError, fetchApi } = await import('/assets/guide/fetch-api.js');
    const { pages } = await import('/assets/guide/pages.js');
    const { showWorkspaces } = await import('/assets/guide/show-workspaces.js');
    ${code}
  })()`);
}

/** What comes of a call that fails. */
const failing = (call: string) =>
  `try { ${call} } catch (error) { return { ...error, message: error.message, isApiError: error instanceof ApiError }; }`;

/** How often the service was asked for a list. */
const lists = () => at.e2e.testApp.serviceRequests.filter(({ url }) => url.includes('workspaces?'));

test('Every workspace of every page is listed once, and the same limit goes with each page', async () => {
  const listed = await run(`
    const list = document.createElement('ol');
    await showWorkspaces(list);
    return [...list.children].map(({ textContent }) => textContent);
  `);
  expect(listed).toHaveLength(137);
  expect(new Set(listed as string[]).size).toBe(137);
  expect(lists().map(({ url }) => new URL(url, 'http://x').searchParams.get('limit'))).toEqual([
    '50',
    '50',
    '50',
  ]);
});

test('No page is asked for before it is wanted', async () => {
  await run(`for await (const _first of pages('/api/public/v1/workspaces', { limit: 10 })) break;`);
  expect(lists()).toHaveLength(1);
});

test('A pause that the service asks for is taken', async () => {
  let refusals = 2;
  at.e2e.testApp.intercept = (req, res) => {
    if (req.url?.startsWith('/api/public/v1/workspaces') !== true || refusals === 0) return false;
    refusals -= 1;
    return Boolean(res.writeHead(refusals === 0 ? 503 : 429, { 'retry-after': '0' }).end());
  };
  expect(
    await run(`return (await Array.fromAsync(pages('/api/public/v1/workspaces', { limit: 100 }))).length;`),
  ).toBe(137);
});

test('A pause without an end is not taken for ever', async () => {
  at.respondWith(429, { 'retry-after': '0' });
  expect(await run(failing(`await pages('${API_PATH}').next();`))).toMatchObject({
    status: 429,
    isFromService: true,
  });
  expect(at.e2e.testApp.serviceRequests).toHaveLength(5);
});

test('An abort ends the pause, too', async () => {
  at.respondWith(429, { 'retry-after': '3600' });
  const failed = await run(`
    const control = new AbortController();
    const first = pages('${API_PATH}', { signal: control.signal }).next();
    setTimeout(() => control.abort(), 200);
    ${failing('await first;')}
  `);
  expect(failed).toMatchObject({ isApiError: false, message: expect.stringMatching(/abort/i) });
});

test('A token that the service repeats is no endless list', async () => {
  at.respondWith(200, { 'content-type': 'application/json' }, '{"value":[1],"next":"n"}');
  expect(await run(failing(`await Array.fromAsync(pages('${API_PATH}'));`))).toMatchObject({
    message: 'the service returned the same cursor twice',
  });
});

test('An error of the service and a problem of the gateway are told apart', async () => {
  at.respondWith(
    404,
    { 'content-type': 'application/json' },
    '{"code":"THING_NOT_FOUND","message":"No such thing"}',
  );
  expect(await run(failing(`await fetchApi('${API_PATH}');`))).toMatchObject({
    ...{
      status: 404,
      code: 'THING_NOT_FOUND',
      message: 'No such thing',
      isFromService: true,
      isApiError: true,
    },
  });
  expect(await run(failing(`await fetchApi('/api/nothing');`))).toMatchObject({
    ...{ status: 404, code: 'path_not_allowed', isFromService: false, isApiError: true },
    requestId: expect.stringMatching(/^[\da-f-]{36}$/),
  });
});

test.each(['null', '{', ''])('An error whose body is %j is one all the same', async (body) => {
  at.respondWith(500, { 'content-type': 'application/json' }, body);
  expect(await run(failing(`await fetchApi('${API_PATH}');`))).toMatchObject({
    status: 500,
    message: 'The API responded with 500',
  });
});

test('A session that has ended leads to sign-in and back; a 401 of the service does not', async () => {
  await using watched = await at.open({}, '/console/guide#vite');
  const { page, context } = watched;
  const call = `import('/assets/guide/fetch-api.js').then(({ fetchApi }) => fetchApi('${API_PATH}')).catch(() => 'failed')`;
  at.e2e.testApp.intercept = (req, res) => req.url === API_PATH && Boolean(res.writeHead(401).end());
  expect(await page.evaluate(call)).toBe('failed');
  expect(page.url()).toMatch(/guide#vite$/);

  await context.clearCookies({ name: 'cloakroom' });
  await Promise.all([page.waitForURL(/authorization\/oauth2/), page.evaluate(call).catch(() => {})]);
  await passService(page);
  await page.waitForURL(`${at.e2e.testApp.origin}/console/guide#vite`);
});
