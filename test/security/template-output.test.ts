import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { ROOT } from '../support/constants.ts';
import { templateFaults } from './template-faults.ts';

async function filesBelow(folder: string, ending: string) {
  const names = await readdir(join(ROOT, folder), { recursive: true });
  const found = names.filter((name) => name.endsWith(ending));
  expect(found.length).toBeGreaterThan(2);
  return Promise.all(
    found.map(async (name) => ({ name, text: await readFile(join(ROOT, folder, name), 'utf8') })),
  );
}

test('No template prints a value but escaped and in its place', async () => {
  for (const { name, text } of await filesBelow('views', '.eta')) {
    expect({ name, faults: templateFaults(name, text) }).toEqual({ name, faults: [] });
  }
});

test.each([
  '<p><%~ it.name %></p>',
  '<p><%~it.name%></p>',
  '<p><%_ ~ it.name _%></p>',
  '<%~ it.body %>',
  "<%~ include('a') + it.name %>",
  "<%~ include('a') || include('b') %>",
  '<% output(it.name) %>',
  '<% __eta.res += it.name %>',
  "<% layout('layout', { body: it.name }) %>",
  "<% layout('layout', it) %>",
  "<% layout('layout', { title: words('a'), body: it.name }) %>",
  "<% block('a', () => it.name) %>",
  "<%~ include('a(') + it.name + words(')') %>",
  "<%~ include('./layout', it.page) %>",
])('A template is refused for what it prints raw: %s', (template) => {
  expect(templateFaults('page.eta', template)).toEqual([expect.stringContaining('prints raw: ')]);
});

test.each([
  '<a href=<%= it.href %>>',
  '<a <%= it.href %>>',
  '<a title="<%= it.a %>" data-<%= it.name %>="1">',
  '<p style="color: <%= it.colour %>">',
  "<p onclick='go()'>",
  '<style>p { color: red }</style>',
  '<script>go()</script>',
  `<script src="<%= it.asset('go.js') %>">go()</script>`,
  '<script src="<%= it.asset(it.src) %>"></script>',
  `<script src="<%= it.asset('a.js') + it.src %>"></script>`,
  `<script src=<%= it.asset('a.js') %>></script>`,
  '<img src="/assets/favicon.svg" alt="">',
  '<script src="<%= it.src %>"></script>',
  '<script src="https://elsewhere.test/a.js"></script>',
  '<a href="javascript:go()">',
  '<iframe srcdoc="<%= it.page %>"></iframe>',
  '<iframe src="<%= it.href %>"></iframe>',
  '<object data="<%= it.href %>"></object>',
  '<base href="<%= it.href %>">',
  '<<%= it.name %>>',
  '</<%= it.name %>>',
  '<img src="//elsewhere.test/a.png" alt="">',
  '<img src="/<%= it.src %>" alt="">',
  '<img src="<%= it.src %>" alt="">',
  '<link rel="stylesheet" href="https://elsewhere.test/a.css">',
  '<a href="data:text/html,x">',
  '<a href="<%= it.a %>"onclick=go()>',
])('A template is refused for what is inline: %s', (template) => {
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
])('A template is taken: %s %s', (name, template) => {
  expect(templateFaults(name, template)).toEqual([]);
});

test('No source switches the escaping off, or writes markup past the templates', async () => {
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
const READS_PAGES = new Map([
  ['next-page-loading.js', 'new DOMParser().parseFromString(await answer.text()'],
]);

test('No script of a page makes markup or code of text', async () => {
  for (const { name, text } of await filesBelow('public', '.js')) {
    const rest = text.replace(READS_PAGES.get(name) ?? '', '');
    expect({ name, found: TO_MARKUP.exec(rest)?.[0] }).toEqual({ name, found: undefined });
  }
});

test.each([
  'row.innerHTML = name',
  "row.insertAdjacentHTML('beforeend', name)",
  'document.write(name)',
  "new Function('return 1')",
  "setTimeout('go()', 1)",
  "row.setAttribute('onclick', name)",
])('A script is refused: %s', (script) => {
  expect(script).toMatch(TO_MARKUP);
});
