import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { createRender } from '../../../src/http/templates.ts';
import { toWorkspaceSearchView, toWorkspacesView } from '../../../src/workspaces/page-views.ts';
import type { ListedPage } from '../../../src/workspaces/paging.ts';
import { ROOT } from '../../support/constants.ts';
import { render } from '../../support/render.ts';

const hostile = `"><script>alert('x')</script><img src=x onerror=alert(1)>\u202E`;
const listed: ListedPage = {
  items: [{ name: hostile, description: hostile, id: hostile, createdOn: 1, locked: true }],
  page: 2,
  limit: 25,
  before: 25,
  next: { page: 3, cursor: 'x', before: 50 },
  reached: 'furthest',
};
const pages = {
  landing: render('landing', { title: 'Cloakroom', signedIn: false }),
  workspaces: render('workspaces', toWorkspacesView(listed, 9, 25)),
  bounce: render('bounce', { title: 'Signed in', signedIn: true, href: '/workspaces?a=1&b=2' }),
  error: render('error', {
    title: hostile,
    detail: hostile,
    signedIn: true,
    status: 502,
    links: [{ href: '/workspaces?page=2&limit=10', label: hostile }],
    requestId: 'the-request-id',
  }),
};

test.each(['workspaces', 'error'] as const)('hostile text on the %s page is escaped', (name) => {
  expect(pages[name]).toContain('&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;');
  expect(pages[name]).not.toMatch(/<script>|<img src=x/);
});

test('text whose direction is unknown is isolated from the surrounding text', () => {
  const texts = pages.workspaces.match(/<[^>]*>[^<]*\u202E[^<]*/g) ?? [];
  expect(texts.length).toBeGreaterThan(1);
  for (const text of texts) expect(text).toMatch(/dir="auto"|^<(?:bdi|title)\b/);
});

test.each(Object.entries(pages))(
  'the %s page has a title, a language, one h1 element and one main element',
  (_name, html) => {
    expect(html).toMatch(/^<!doctype html>\s*<html lang="en">/);
    expect(html).toMatch(/<title>[^<]+<\/title>/);
    expect(html.match(/<h1[ >]/g)).toHaveLength(1);
    expect(html.match(/<main /g)).toHaveLength(1);
    expect(html).toContain('<a class="skip-link" href="#content">');
  },
);

test('the only link on the landing page leads to sign-in', () => {
  const main = /<main.*<\/main>/s.exec(pages.landing)?.[0] ?? '';
  expect(main.match(/<(?:a|button|form)\b[^>]*>/g)).toEqual([
    '<a class="button button--primary" href="/auth/login">',
  ]);
  expect(pages.landing).not.toContain('/auth/logout');
});

test('page size links have labels that make sense out of context', () => {
  expect(pages.workspaces).toMatch(/<a [^>]*aria-label="25 per page" aria-current="true">25</);
});

test('a long description can be expanded without a script, and a short description is shown in full', () => {
  const view = (description: string) =>
    render('workspaces', toWorkspacesView({ ...listed, items: [{ name: 'x', description }] }, 2, 25));
  expect(view('x'.repeat(241))).toContain('<summary>Read more<');
  expect(view('x'.repeat(240))).not.toContain('<details');
});

test('a page with items of maximum length has less than 16 MB of HTML', () => {
  const [sign, quote] = ['☂', '"'];
  const item = {
    ...Object.fromEntries(Array.from({ length: 36 }, (_, nth) => [`${nth}`, quote.repeat(5)])),
    id: sign.repeat(256),
    name: quote.repeat(500),
    description: quote.repeat(2_000),
    createdOn: 1,
    updatedOn: 1,
    ...{ locked: true, suspended: true, confidential: true, favorite: true },
    ...{ status: quote.repeat(50), type: quote.repeat(50) },
  };
  const found = { items: Array.from({ length: 10_000 }, () => item), before: 1, upTo: 20_000, nextFrom: 201 };
  const find = { words: sign.repeat(200), from: 101, origin: { limit: 100, page: 1_000_000 } };
  const html = render('workspaces', toWorkspaceSearchView(found, find, 25));
  expect(html.split('<li class="item">')).toHaveLength(1_000 + 1);
  expect(Buffer.byteLength(html)).toBeLessThan(16_000_000);
});

test('for screen readers, the details label in each row contains the item name', () => {
  expect(pages.workspaces).toMatch(
    /<summary>Details<span class="visually-hidden"> of <bdi>&quot;&gt;&lt;script&gt;[^<]*<\/bdi><\/span><\/summary>/,
  );
});

test('a list with several pages has a link that skips to the page links', () => {
  expect(pages.workspaces).toContain('href="#pages"');
  expect(pages.workspaces).toContain('id="pages" tabindex="-1"');
  const whole = render(
    'workspaces',
    toWorkspacesView({ items: listed.items, page: 1, limit: 25, before: 0, reached: 'requested' }, 1, 25),
  );
  expect(whole).not.toContain('#pages');
});

test('a page for a signed-in user has a sign-out button', () => {
  expect(pages.workspaces).toMatch(/<form method="post" action="\/auth\/logout">\s*<button [^>]*>Sign out</);
});

test('the page after sign-in redirects automatically and also has a link', () => {
  const href = '/workspaces?a=1&amp;b=2';
  expect(pages.bounce).toContain(`<meta http-equiv="refresh" content="0;url=${href}">`);
  expect(pages.bounce).toContain(`href="${href}">Continue</a>`);
});

test('rendering never reads files, because an error page may be needed when no file descriptors are left', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'cloakroom-views-'));
  await mkdir(join(folder, 'parts'));
  await writeFile(join(folder, 'page.eta'), "<%~ include('parts/name', it) %>");
  await writeFile(join(folder, 'parts/name.eta'), 'Hello <%= it.name %>');
  const renderFrom = createRender({}, folder);
  await rm(folder, { recursive: true });
  expect(renderFrom('page', { name: 'Ada' })).toBe('Hello Ada');
});

test('the stylesheet never loads other files', async () => {
  const css = await readFile(join(ROOT, 'public/cloakroom.css'), 'utf8');
  expect(css).not.toMatch(/url\(|@import/);
});
