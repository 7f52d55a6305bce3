import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import request from 'supertest';
import { ADVICE } from '../../../src/console/problem-advice.ts';
import { GATEWAY_PROBLEMS } from '../../../src/errors.ts';
import { ROOT } from '../../support/constants.ts';
import { startTestApp } from '../../support/test-app.ts';
import { htmlViolations } from '../../support/e2e/page-checks.ts';
import { useTestApp } from '../../support/fixtures.ts';

const testApp = useTestApp();

const page = async (path: string, tokens?: Parameters<typeof testApp.createSession>[0]) => {
  const { id, cookie } = await testApp.createSession(tokens);
  const { text, headers } = await request(testApp.origin).get(path).set('cookie', cookie).expect(200);
  return { id, text, headers };
};

describe.each(['/console', '/console/guide'])('%s', (path) => {
  test('redirects a user without a session to sign-in and sets return_to', async () => {
    const response = await request(testApp.origin).get(path).expect(303);
    expect(response.headers['location']).toBe(`/auth/login?return_to=${encodeURIComponent(path)}`);
  });

  test('is valid HTML, is never cached, and is marked as current in the navigation', async () => {
    const { text, headers } = await page(path);
    expect(await htmlViolations(text)).toEqual([]);
    expect(headers['cache-control']).toBe('no-store');
    expect(text).toMatch(/<a href="\/console" aria-current="true">/);
    expect(text.match(/<h1>/g)).toHaveLength(1);
  });

  test('contains neither tokens nor the session id', async () => {
    const tokens = { accessToken: 'sentinel-access', refreshToken: 'sentinel-refresh' };
    const { id, text } = await page(path, tokens);
    expect(text).not.toContain('sentinel');
    expect(text).not.toContain(id);
  });
});

test('a page loads one script and one stylesheet, and the landing page loads no script', async () => {
  const landing = await request(testApp.origin).get('/');
  const assets = (html: string) =>
    [...html.matchAll(/\/assets\/\w+\/([\w/]+\.(?:js|css))"/g)].map(([, name]) => name);
  expect(assets((await page('/console')).text)).toEqual(['console/console.css', 'console/console.js']);
  expect(assets((await page('/console/guide')).text)).toEqual(['console/console.css', 'console/guide.js']);
  expect(assets(landing.text)).toEqual(['cloakroom.css']);
});

test('without JavaScript, the console shows a curl command and links', async () => {
  const { text } = await page('/console');
  const [, noscript = ''] = /<noscript>(.*)<\/noscript>/s.exec(text) ?? [];
  expect(unescape(noscript)).toContain(
    `curl --cookie "cloakroom=$COOKIE" '${testApp.origin}/api/public/v1/workspaces?limit=10'`,
  );
  expect(noscript).toContain('href="/console/guide"');
  expect(noscript).toContain('href="/openapi.json"');
});

test('over HTTPS, the console uses the prefixed cookie name', async () => {
  await using https = await startTestApp({ PUBLIC_URL: 'https://cloakroom.example' });
  const { cookie } = await https.createSession();
  const { text } = await request(`http://127.0.0.1:${https.config.port}`)
    .get('/console')
    .set('cookie', cookie)
    .expect(200);
  expect(text).toContain('data-cookie-name="__Host-Http-cloakroom"');
});

describe('the guide', () => {
  test('lists every gateway problem code with its status and advice', async () => {
    const { text } = await page('/console/guide');
    const [, list = ''] = /<dl class="codes">(.*?)<\/dl>/s.exec(text) ?? [];
    const rows = list.matchAll(
      /<code>(\w+)<\/code> <span class="muted">(\d+)<\/span><\/dt>\s*<dd>(.*?)<\/dd>/g,
    );
    const listed = [...rows].map(([, code, status, advice = '']) => [code, Number(status), unescape(advice)]);
    expect(listed).toEqual(
      Object.entries(GATEWAY_PROBLEMS).map(([code, { status }]) => [code, status, ADVICE[code]]),
    );
    expect(text).toContain('<a href="#codes">');
  });

  test.each(['fetch-api.js', 'pages.js', 'show-workspaces.js', 'vite.config.js'])(
    'shows %s unchanged, and docs/api.md contains the same text',
    async (name) => {
      const source = readFileSync(join(ROOT, 'public/guide', name), 'utf8').trimEnd();
      const { text } = await page('/console/guide');
      expect(unescape(text)).toContain(`<code>${source}</code>`);
      expect(readFileSync(join(ROOT, 'docs/api.md'), 'utf8')).toContain(`\`\`\`js\n${source}\n\`\`\``);
    },
  );
});

function unescape(html: string): string {
  return html
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');
}
