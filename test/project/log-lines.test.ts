import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { MEMBERS } from '../../scripts/log-audit/members.mjs';
import { ROOT } from '../support/constants.ts';

const guide = readFileSync(join(ROOT, 'docs/monitoring.md'), 'utf8');

/** Cloakroom's sources, except the local service, which no deployment includes. */
const SOURCES = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts') && !file.startsWith('local-service/'))
  .map((file) => readFileSync(join(ROOT, 'src', file), 'utf8'));

const CALL = /\blog\??(?:\.(?:trace|debug|info|warn|error|fatal)|\[level\])\(/g;

/** Returns the log messages that are string literals in a source file. */
function messagesOf(source: string): string[] {
  return [...source.matchAll(CALL)].flatMap((call) => {
    const last = /'([^'\n]+)'\s*,?\s*$/.exec(argumentsAt(source, call.index + call[0].length));
    return last?.[1] === undefined ? [] : [last[1]];
  });
}

/** Returns the text from `start`, just after an opening parenthesis, to the matching closing parenthesis. */
function argumentsAt(source: string, start: number): string {
  let depth = 1;
  let end = start;
  for (; depth > 0 && end < source.length; end += 1) {
    if (source[end] === '(') depth += 1;
    else if (source[end] === ')') depth -= 1;
  }
  return source.slice(start, end - 1);
}

test('docs/monitoring.md explains every log message', () => {
  const unexplained = SOURCES.flatMap(messagesOf).filter((message) => !guide.includes(`\`${message}\``));
  expect(unexplained).toEqual([]);
});

test('the source contains every log message in docs/monitoring.md, and every phrase that docs/runbooks.md searches for', () => {
  const [, table = ''] = /\n### Messages\n([^]*?)\n\nThe `reason`/.exec(guide) ?? [];
  const cells = [...table.matchAll(/^\|([^|]*)\|/gm)].map(([, cell = '']) => cell);
  const messages = cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => `'${name}'`));
  const runbooks = readFileSync(join(ROOT, 'docs/runbooks.md'), 'utf8');
  const searches = [...runbooks.matchAll(/logs \| grep(?: -\w+)? '([a-z][^'"[]*)/g)];
  const phrases = searches.flatMap(([, search = '']) => search.split('|'));
  expect([messages.length > 30, phrases.length > 5]).toEqual([true, true]);
  const source = SOURCES.join('\n');
  expect([...messages, ...phrases].filter((text) => !source.includes(text))).toEqual([]);
});

/** The section on logs, and the JSON example and code spans in that section. */
const [, logs = ''] = /\n## Logs\n([^]*?)\n## /.exec(guide) ?? [];
const codeOfLogs = [...logs.matchAll(/```json\n([^]*?)```|`([^`\n]+)`/g)].map(([code]) => code).join('\n');

test.each([...MEMBERS])('docs/monitoring.md explains the log field %s', (member) => {
  expect(codeOfLogs).toMatch(new RegExp(`["\`]${member}["\`:]`));
});

describe('the message search', () => {
  test.each([
    ['a message without fields', "log.error('a fault')"],
    ['a message after fields', "options.log.warn({ err: error, of: toName(list) }, 'a fault');"],
    ['a message on its own line', "log.info(\n  { ...toLog(by) },\n  'a fault',\n);"],
    ['a message at a computed level', "deps.log[level]({ code }, 'a fault')"],
  ])('finds %s', (_what, source) => {
    expect(messagesOf(source)).toEqual(['a fault']);
  });

  test('finds more than 30 messages in the source', () => {
    expect(new Set(SOURCES.flatMap(messagesOf)).size).toBeGreaterThan(30);
  });
});
