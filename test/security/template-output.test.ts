import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { ROOT } from '../support/constants.ts';

async function filesBelow(folder: string, ending: string) {
  const names = await readdir(join(ROOT, folder), { recursive: true });
  const found = names.filter((name) => name.endsWith(ending));
  expect(found.length).toBeGreaterThan(2);
  return Promise.all(
    found.map(async (name) => ({ name, text: await readFile(join(ROOT, folder, name), 'utf8') })),
  );
}

test('every template escapes what it prints', async () => {
  for (const { name, text } of await filesBelow('views', '.eta')) {
    expect({ name, faults: templateFaults(name, text) }).toEqual({ name, faults: [] });
  }
});

test.each([
  '<p><%~ it.name %></p>',
  '<%~ it.body %>',
  "<%~ include('a') + it.name %>",
  '<% output(it.name) %>',
  '<% __eta.res += it.name %>',
  "<% layout('layout', { body: it.name }) %>",
  "<% layout('layout', { title: words('a'), body: it.name }) %>",
  "<% block('a', () => it.name) %>",
  "<%~ include('./layout', it.page) %>",
])('a template may not print raw: %s', (template) => {
  expect(templateFaults('page.eta', template)).toEqual([expect.stringContaining('prints raw: ')]);
});

test.each([
  '<a href=<%= it.href %>>',
  '<a title="<%= it.a %>" data-<%= it.name %>="1">',
  '<p style="color: <%= it.colour %>">',
  '<style>p { color: red }</style>',
  '<script>go()</script>',
  `<script src="<%= it.asset('go.js') %>">go()</script>`,
  '<script src="<%= it.asset(it.src) %>"></script>',
  '<img src="/assets/favicon.svg" alt="">',
  '<script src="https://elsewhere.test/a.js"></script>',
  '<a href="javascript:go()">',
  '<iframe srcdoc="<%= it.page %>"></iframe>',
  '<base href="<%= it.href %>">',
  '<<%= it.name %>>',
  '<img src="//elsewhere.test/a.png" alt="">',
  '<link rel="stylesheet" href="https://elsewhere.test/a.css">',
  '<a href="data:text/html,x">',
  '<a href="<%= it.a %>"onclick=go()>',
])('a template may not have inline: %s', (template) => {
  expect(templateFaults('page.eta', template).join('\n')).toContain('has inline: ');
});

test.each([
  [
    'page.eta',
    '<a class="a<%= it.b %>" href="<%= it.href %>"<% if (it.c) { %> hidden<% } %>><%= it.d %></a>',
  ],
  ['page.eta', "<%~ include('partials/row', { href: it.first, label: words('First') }) %>"],
  ['page.eta', "<%~ include('a', { x: f(g(1)) }) %>"],
  ['page.eta', '<% if (it.blocked || it.captured) { %><p>It is.</p><% } %>'],
  [
    'page.eta',
    '<link rel="stylesheet" href="/local-service.css"><a href="https://elsewhere.test/">There</a>',
  ],
  [
    'layout.eta',
    `<main><%~ it.body %></main><script type="module" src="<%= it.asset('a/b.js') %>"></script>`,
  ],
])('a template may have: %s %s', (name, template) => {
  expect(templateFaults(name, template)).toEqual([]);
});

test('no source file switches escaping off or writes markup itself', async () => {
  for (const { name, text } of await filesBelow('src', '.ts')) {
    const found =
      /autoEscape:\s*(?!true)\w+|escapeFunction|renderString|\bcompile\(|['"`]\s*<(?:!doctype|\/?(?:a|b|body|div|h\d|html|img|li|p|script|span|style|t[dhr]|ul)\b)/i.exec(
        text,
      );
    expect({ name, found: found?.[0] }).toEqual({ name, found: undefined });
  }
});

const TO_MARKUP =
  /\b(?:(?:inner|outer)HTML|insertAdjacentHTML|setHTML\w*|createContextualFragment|parseFromString|srcdoc)\b|\b(?:eval|Function)\(|\bdocument\.write|\bset(?:Timeout|Interval)\(\s*['"`]|setAttribute\(\s*['"`](?:on|style)/;

/** Reads pages of ours, which the templates escaped, into a document that runs nothing. */
const READS_PAGES = new Map([['fetch-list-page.js', 'new DOMParser().parseFromString(await answer.text()']]);

test('no page script makes markup or code from text', async () => {
  for (const { name, text } of await filesBelow('public', '.js')) {
    const rest = text.replace(READS_PAGES.get(name) ?? '', '');
    expect({ name, found: TO_MARKUP.exec(rest)?.[0] }).toEqual({ name, found: undefined });
  }
});

test.each([
  'row.innerHTML = name',
  'document.write(name)',
  "setTimeout('go()', 1)",
  "row.setAttribute('onclick', name)",
])('a page script may not say: %s', (script) => {
  expect(script).toMatch(TO_MARKUP);
});

/** Where a template prints something that is not escaped, or has a script or a style of its own: a line for each. */
function templateFaults(name: string, template: string): string[] {
  return [...rawFaults(name, template), ...inlineFaults(template)];
}

const TAG = /<%[-_]?\s*([~=]?)(.*?)[-_]?%>/gs;
/** What is neither a call nor ends one: a parenthesis in quotes is a text. */
const PLAIN = String.raw`[^()'"\x60]|'[^']*'|"[^"]*"`;
const CALL = String.raw`\((?:${PLAIN})*\)`;
/** One call and nothing behind it, with calls among its arguments and theirs. */
const INCLUDE = new RegExp(String.raw`^include\((?:${PLAIN}|\((?:${PLAIN}|${CALL})*\))*\)$`);
/** Eta's own ways past its escaping, and those to give a layout another body than the page. */
const PAST_ESCAPING =
  /\b(?:__eta|output|capture|block)\b|\blayout\([^]*(?:\bbody\b|\.\.\.|,\s*it\s*\))|\binclude\(\s*\S*layout\b/;

/** The one raw print (`<%~`) is of what a template of ours made: another template, or in the layout the page. */
function rawFaults(name: string, template: string): string[] {
  return [...template.matchAll(TAG)].flatMap(([, kind, code = '']) => {
    const text = code.trim();
    const isOurs = INCLUDE.test(text) || (text === 'it.body' && /(?:^|\/)layout\.eta$/.test(name));
    const isRaw = (kind === '~' && !isOurs) || PAST_ESCAPING.test(text);
    return isRaw ? [`prints raw: ${text}`] : [];
  });
}

/** The address of a file of ours that the template itself names: as good as written there. */
const ASSET = /<%= it\.asset\('[\w/-]+\.\w+'\) %>/g;
const [OWN, PRINTED] = ['\uE000', '\uE001'];
/** The content security policy stops most of these as well; here they can't get as far. */
const INLINE = [
  /<style\b/gi,
  new RegExp(`<script\\b(?![^>]* src="${OWN}")[^>]*>`, 'gi'),
  /<script\b[^>]*>\s*[^<\s]/gi,
  /<(?:applet|base|embed|frame|frameset|iframe|object)\b/gi,
  /<[^>]*["'\s/](?:on\w+|style|srcdoc)\s*=/gi,
  /["'=]\s*(?:data|javascript|vbscript):/gi,
  // What a page loads by itself is a file of ours.
  new RegExp(
    String.raw`(?:<(?:image|link|use)\b[^>]*["'\s/]href|<[^>]*["'\s/](?:poster|src|srcset))\s*=(?!"(?:${OWN}"|/[^/\\${PRINTED}]))`,
    'gi',
  ),
  /\/assets\//g, // names a file without its version
  // In quotes a printed value can only be text; elsewhere in a tag it could be an attribute, or the tag itself.
  new RegExp(`</?(?:[a-z](?:[^"'>]|"[^"]*"|'[^']*')*)?${PRINTED}`, 'gi'),
];

function inlineFaults(template: string): string[] {
  const html = template
    .replaceAll(ASSET, OWN)
    .replaceAll(TAG, (_tag, kind: string) => (kind === '' ? '' : PRINTED));
  return INLINE.flatMap((fault) => [...html.matchAll(fault)].map(([found]) => `has inline: ${found}`));
}
