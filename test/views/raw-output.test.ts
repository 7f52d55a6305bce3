import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { templateFaults } from './template-faults.ts';

const ROOT = join(import.meta.dirname, '../..');

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
  ['<p><%~ it.name %></p>', 'prints raw: it.name'],
  ['<p><%~it.name%></p>', 'prints raw: it.name'],
  ['<p><%_ ~ it.name _%></p>', 'prints raw: it.name'],
  ['<%~ it.body %>', 'prints raw: it.body'],
  ["<%~ include('a') + it.name %>", "prints raw: include('a') + it.name"],
  ["<%~ include('a') || include('b') %>", "prints raw: include('a') || include('b')"],
  ['<% output(it.name) %>', 'prints past the escaping: output'],
  ['<% __eta.res += it.name %>', 'prints past the escaping: __eta'],
  [
    "<% layout('layout', { body: it.name }) %>",
    "may give a body to a layout: layout('layout', { body: it.name })",
  ],
  ["<%~ include('./layout', it.page) %>", "may give a body to a layout: include('./layout', it.page)"],
  ["<% layout('layout', it) %>", "may give a body to a layout: layout('layout', it)"],
  ['<a href=<%= it.href %>>', 'prints without quotes: href of <a>'],
  ['<a <%= it.href %>>', 'prints the name of an attribute, or a part of it: \uE000 of <a>'],
  ['<a data-<%= it.name %>="1">', 'prints the name of an attribute, or a part of it: data-\uE000 of <a>'],
  ['<<%= it.name %>>', 'prints the name of an element'],
  ['<p style="color: <%= it.colour %>">', 'has an inline style of <p>'],
  ["<p onclick='go()'>", 'has an inline onclick of <p>'],
  ['<style>p { color: red }</style>', 'has a <style>'],
  ['<script>go()</script>', 'has a script that is not of ours: '],
  [`<script src="<%= it.asset('go.js') %>">go()</script>`, 'has an inline script'],
  ['<script src="<%= it.src %>"></script>', 'has a script that is not of ours: "\uE000"'],
  ['<script src="<%= it.asset(it.src) %>"></script>', 'has a script that is not of ours: "\uE000"'],
  [`<script src="<%= it.asset('a.js') + it.src %>"></script>`, 'has a script that is not of ours: "\uE000"'],
  [`<script src=<%= it.asset('a.js') %>></script>`, 'has a script that is not of ours: \uE001a.js'],
  ['<script src="/assets/go.js"></script>', 'has a script that is not of ours: "/assets/go.js"'],
  ['<img src="/assets/favicon.svg" alt="">', 'names an asset without its version'],
  ['<a href="javascript:go()">', 'has a "javascript:go()" as href of <a>'],
  ['<img src="//elsewhere.test/a.png">', 'asks another site: src of <img>'],
  ['<iframe srcdoc="<%= it.page %>"></iframe>', 'has an inline srcdoc of <iframe>'],
])('A template is refused: %s', (template, fault) => {
  expect(templateFaults('page.eta', template).join('\n')).toContain(fault);
});

test.each([
  [
    'page.eta',
    '<a class="a<%= it.b %>" href="<%= it.href %>"<% if (it.c) { %> hidden<% } %>><%= it.d %></a>',
  ],
  ['page.eta', "<%~ include('partials/row', { href: it.first, label: words('First') }) %>"],
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
