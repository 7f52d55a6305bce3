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

test('every template escapes its output', async () => {
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
])('unescaped output in a template is detected: %s', (template) => {
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
])('inline code or a file from another origin in a template is detected: %s', (template) => {
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
])('a safe template is accepted: %s %s', (name, template) => {
  expect(templateFaults(name, template)).toEqual([]);
});

const UNESCAPED =
  /autoEscape:\s*(?!true)\w+|escapeFunction|renderString|\bcompile\(|['"`]\s*<(?:!doctype|\/?(?:a|b|body|div|h\d|html|img|li|p|script|span|style|t[dhr]|ul)\b)/i;

/** Safe code that UNESCAPED matches: a call that compiles only the files in `views`. */
const COMPILES_FILES = "eta.compile(readFileSync(filepath, 'utf8')";

test('source files never disable escaping, compile text as a template or write markup', async () => {
  for (const { name, text } of await filesBelow('src', '.ts')) {
    const rest = name === 'http/templates.ts' ? text.replace(COMPILES_FILES, '') : text;
    expect({ name, found: UNESCAPED.exec(rest)?.[0] }).toEqual({ name, found: undefined });
  }
});

const TO_MARKUP =
  /\b(?:(?:inner|outer)HTML|insertAdjacentHTML|setHTML\w*|createContextualFragment|parseFromString|srcdoc)\b|\b(?:eval|Function)\(|\bdocument\.write|\bset(?:Timeout|Interval)\(\s*['"`]|setAttribute\(\s*['"`](?:on|style)/;

/** Safe code that TO_MARKUP matches: a call that parses Cloakroom pages into a document that does not run scripts. */
const READS_PAGES = new Map([
  ['list/fetch-list-page.ts', 'new DOMParser().parseFromString(await response.text()'],
]);

test('page scripts never create markup or code from text', async () => {
  for (const { name, text } of await filesBelow('src/browser', '.ts')) {
    const rest = text.replace(READS_PAGES.get(name) ?? '', '');
    expect({ name, found: TO_MARKUP.exec(rest)?.[0] }).toEqual({ name, found: undefined });
  }
});

test.each([
  'row.innerHTML = name',
  'document.write(name)',
  "setTimeout('go()', 1)",
  "row.setAttribute('onclick', name)",
])('a page script that creates markup or code from text is detected: %s', (script) => {
  expect(script).toMatch(TO_MARKUP);
});

/** Finds unescaped output, inline scripts and styles, and files from other origins in a template. */
function templateFaults(name: string, template: string): string[] {
  return [...rawFaults(name, template), ...inlineFaults(template)];
}

const TAG = /<%[-_]?\s*([~=]?)(.*?)[-_]?%>/gs;
/** A character that is neither a quote nor a parenthesis, or a quoted string. */
const PLAIN = String.raw`[^()'"\x60]|'[^']*'|"[^"]*"`;
const CALL = String.raw`\((?:${PLAIN})*\)`;
/** A single include() with nothing after it, whose arguments may contain calls nested up to two levels. */
const INCLUDE = new RegExp(String.raw`^include\((?:${PLAIN}|\((?:${PLAIN}|${CALL})*\))*\)$`);
/** Eta functions that print without escaping or replace the body of a layout. */
const PAST_ESCAPING =
  /\b(?:__eta|output|capture|block)\b|\blayout\([^]*(?:\bbody\b|\.\.\.|,\s*it\s*\))|\binclude\(\s*\S*layout\b/;

/** Allows unescaped output (`<%~`) only for another template and, in the layout, for the page body. */
function rawFaults(name: string, template: string): string[] {
  return [...template.matchAll(TAG)].flatMap(([, kind, code = '']) => {
    const text = code.trim();
    const isOurs = INCLUDE.test(text) || (text === 'it.body' && /(?:^|\/)layout\.eta$/.test(name));
    const isRaw = (kind === '~' && !isOurs) || PAST_ESCAPING.test(text);
    return isRaw ? [`prints raw: ${text}`] : [];
  });
}

/** The URL of a Cloakroom asset, with the file name written out in the template. */
const ASSET = /<%= it\.asset\('[\w/-]+\.\w+'\) %>/g;
const [OWN, PRINTED] = ['\uE000', '\uE001'];
/** Patterns that match inline code and files from other origins. The Content-Security-Policy also blocks most of these violations. */
const INLINE = [
  /<style\b/gi,
  new RegExp(`<script\\b(?![^>]* src="${OWN}")[^>]*>`, 'gi'),
  /<script\b[^>]*>\s*[^<\s]/gi,
  /<(?:applet|base|embed|frame|frameset|iframe|object)\b/gi,
  /<[^>]*["'\s/](?:on\w+|style|srcdoc)\s*=/gi,
  /["'=]\s*(?:data|javascript|vbscript):/gi,
  // Pages may only load files from their own origin.
  new RegExp(
    String.raw`(?:<(?:image|link|use)\b[^>]*["'\s/]href|<[^>]*["'\s/](?:poster|src|srcset))\s*=(?!"(?:${OWN}"|/[^/\\${PRINTED}]))`,
    'gi',
  ),
  /\/assets\//g, // an asset URL without a version
  // A printed value is safe inside quotes. Elsewhere in a tag, a printed value could become an attribute or the tag name.
  new RegExp(`</?(?:[a-z](?:[^"'>]|"[^"]*"|'[^']*')*)?${PRINTED}`, 'gi'),
];

function inlineFaults(template: string): string[] {
  const html = template
    .replaceAll(ASSET, OWN)
    .replaceAll(TAG, (_tag, kind: string) => (kind === '' ? '' : PRINTED));
  return INLINE.flatMap((fault) => [...html.matchAll(fault)].map(([found]) => `has inline: ${found}`));
}
