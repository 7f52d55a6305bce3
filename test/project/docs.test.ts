import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { variableNames } from '../../src/config/load.ts';
import { fileVariables } from '../../src/config/schema.ts';
import { localServiceVariables } from '../../src/local-service/config.ts';
import { ROOT } from '../support/constants.ts';

const DOCUMENTS = [
  ...readdirSync(ROOT),
  'bench/README.md',
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' }).map((file) => `docs/${file}`),
].filter((file) => file.endsWith('.md'));

const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');

const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };

const COMPOSE_FILES = ['docker-compose.yml', 'deploy/compose.scaled.yml'];
const services = COMPOSE_FILES.flatMap((file) => {
  // The log level suppresses warnings about Compose's custom tags.
  const compose = parse(read(file), { logLevel: 'error' }) as { services: object };
  return Object.keys(compose.services);
});
const SERVICES = new Set(services);

const VARIABLES = new Set([
  ...variableNames,
  ...fileVariables.map((name) => `${name}_FILE`),
  ...Object.keys(localServiceVariables),
  ...['NODE_ENV', 'NODE_OPTIONS', 'NODE_EXTRA_CA_CERTS', 'PROPERTY_SEED'],
  ...COMPOSE_FILES.flatMap((file) => captures(read(file), /\$\{([A-Z_]+)/g)),
]);

/** A file that the docs tell readers to create. */
const YOURS = /^deploy\/kubernetes\/overlays\/mine/;

describe.each(DOCUMENTS)('%s', (file) => {
  const text = read(file);

  test('has no broken links or images', () => {
    expect(deadLinks(file, text)).toEqual([]);
  });

  test('refers only to files that exist', () => {
    expect(missingFiles(text)).toEqual([]);
  });

  // Readers copy commands straight from the docs. These tests don't run the commands, because most need a cluster or a container,
  // or take an hour. The tests check the shell syntax, and that the npm scripts, files, Compose services and variables exist.
  test('contains only commands whose scripts, files, services and variables exist', () => {
    expect(commandsIn(text).flatMap(missingIn)).toEqual([]);
  });

  test('contains only valid shell syntax', () => {
    for (const block of blocksIn(text))
      expect(() => execFileSync('bash', ['-n'], { input: block, stdio: 'pipe' })).not.toThrow();
  });
});

test('README and docs together have at most 30,000 words', () => {
  const counted = DOCUMENTS.filter((file) => file === 'README.md' || file.startsWith('docs/'));
  const words = counted.map((file) => read(file).trim().split(/\s+/).length);
  expect(words.reduce((sum, count) => sum + count)).toBeLessThanOrEqual(30_000);
});

test('README has at most 110 lines', () => {
  expect(read('README.md').trimEnd().split('\n').length).toBeLessThanOrEqual(110);
});

test.each(DOCUMENTS.filter((file) => /^docs\/[^/]+$/.test(file)))(
  '%s begins with the questions that it answers',
  (file) => expect(read(file)).toMatch(/^# .+\n\n[^#]+?\nThis page answers:\n\n- /),
);

const DECISIONS = DOCUMENTS.filter((file) => file.startsWith('docs/decisions/'));

test('there are at most 20 decision records', () => expect(DECISIONS.length).toBeLessThanOrEqual(20));

test.each(DECISIONS)('%s has the headings Context, Decision and Price', (file) => {
  const headings = read(file).match(/^## .*$/gm);
  expect(headings).toEqual(['## Context', '## Decision', '## Price']);
});

describe('the link checks', () => {
  const here = 'docs/api.md';

  test.each([
    ['a file', '[a](../docs/nowhere.md)', '../docs/nowhere.md'],
    ['an image', '![a](images/nowhere.png)', 'images/nowhere.png'],
    ['a heading', '[a](security.md#nothing-of-this)', 'security.md#nothing-of-this'],
    ['a heading on the same page', '[a](#nothing-of-this)', '#nothing-of-this'],
    ['a file outside the project', '[a](../../elsewhere)', '../../elsewhere'],
    ['a file with an absolute path', '[a](/docs/api.md)', '/docs/api.md'],
    ['a file in a reference link', '[a]\n\n[a]: nowhere.md', 'nowhere.md'],
    ['an image in HTML markup', '<img src="nowhere.png">', 'nowhere.png'],
  ])('find a missing target: %s', (_what, text, link) => {
    expect(deadLinks(here, text)).toEqual([link]);
  });

  test.each([
    '[a](api.md), ![b](images/console.png), [c](../src)',
    '# A heading, *with* `code()`\n[a](#a-heading-with-code)',
    '# Twice\n# Twice\n[a](#twice-1)',
    '[a](https://example.com/nowhere.md)',
    '`[a](nowhere.md)`',
    '```md\n[a](nowhere.md)\n```',
  ])('accept %j', (text) => {
    expect(deadLinks(here, text)).toEqual([]);
  });

  test('find a missing file in a code span', () => {
    expect(missingFiles('`test/nowhere.test.ts` and `src/app.ts`')).toEqual(['test/nowhere.test.ts']);
  });
});

describe('the command checks', () => {
  test.each([
    ['npm script', '```sh\ncat a | npm run -s nothing\n```', 'npm run nothing'],
    ['npm script in a code span', 'Run `npm run nothing`.', 'npm run nothing'],
    ['test', '```sh\nnpm test -- test/nowhere\n```', 'test/nowhere'],
    ['Compose service', '```sh\ndocker compose exec nothing ls\n```', 'nothing'],
    ['Compose file', '```sh\ndocker compose -f deploy/nothing.yml up\n```', 'deploy/nothing.yml'],
    ['module', '```sh\ndocker run cloakroom:1 dist/cli/nothing.js\n```', 'dist/cli/nothing.js'],
    ['variable', '```sh\nPROT=1 npm run demo\n```', 'PROT'],
  ])('find a missing %s', (_what, text, missing) => {
    expect(commandsIn(text).flatMap(missingIn)).toEqual([missing]);
  });

  test('find more than 80 commands in the Markdown files', () => {
    expect(DOCUMENTS.flatMap((file) => commandsIn(read(file))).length).toBeGreaterThan(80);
  });
});

/** Returns the relative links in a document whose target file or heading does not exist. */
function deadLinks(file: string, text: string): string[] {
  const prose = withoutCode(text);
  return [
    ...prose.matchAll(/\]\(\s*<?([^\s<>()]+)>?[^()]*\)/g),
    ...prose.matchAll(/^\s*\[[^\]]+\]:\s*<?([^\s<>]+)/gm),
    ...prose.matchAll(/\s(?:href|src)="([^"]*)"/g),
  ]
    .map(([, link = '']) => link)
    .filter((link) => !/^[a-z][\w+.-]*:/i.test(link) && !hasTarget(file, text, link));
}

function hasTarget(file: string, text: string, link: string): boolean {
  const [path = '', heading] = link.split('#');
  if (path.startsWith('/')) return false;
  const target = path === '' ? file : join(dirname(file), decodeURIComponent(path));
  if (relative('', target).startsWith('..') || !existsSync(join(ROOT, target))) return false;
  if (heading === undefined) return true;
  return headingsOf(path === '' ? text : read(target)).includes(heading);
}

/** Returns the anchors that GitHub generates for the headings. */
function headingsOf(text: string): string[] {
  const seen = new Map<string, number>();
  return [...withoutFences(text).matchAll(/^#{1,6}\s+(.+?)\s*#*$/gm)].map(([, heading = '']) => {
    const name = heading
      .toLowerCase()
      .replaceAll(/[^\p{Letter}\p{Number}\s_-]/gu, '')
      .replaceAll(' ', '-');
    const before = seen.get(name) ?? 0;
    seen.set(name, before + 1);
    return before === 0 ? name : `${name}-${before}`;
  });
}

/** Returns the code spans that look like a project path but match no file. */
function missingFiles(text: string): string[] {
  return [...withoutFences(text).matchAll(/`([\w.-]+(?:\/[\w.-]+)*\/?)`/g)]
    .map(([, path = '']) => path)
    .filter((path) => /^(?:audit|bench|deploy|docs|public|scripts|src|test|views)\//.test(path))
    .filter((path) => !existsSync(join(ROOT, path)));
}

function withoutFences(text: string): string {
  return text.replaceAll(/^([ \t]*)(`{3,}|~{3,})[^]*?^\1\2[ \t]*$/gm, '');
}

function withoutCode(text: string): string {
  return withoutFences(text).replaceAll(/(`+)(?!`)(?:(?!\n\n)[^])*?[^`]\1(?!`)/g, '');
}

/** Returns the fenced blocks of shell commands, without indentation. */
function blocksIn(text: string): string[] {
  return [...text.matchAll(/^( *)```sh\n([^]*?)^\1```$/gm)].map(([, indent = '', block = '']) =>
    block.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  );
}

/** Returns the commands in all blocks, and the npm and Compose commands in code spans. */
function commandsIn(text: string): string[] {
  const spans = captures(text, /`((?:[A-Z_]+=\S+ )*(?:npm (?:run|test|start)|docker compose)[^`\n]*)`/g);
  const lines = blocksIn(text).flatMap((block) => block.replaceAll(/\\\n\s*/g, ' ').split('\n'));
  const commands = [...spans, ...lines].flatMap((line) => line.replace(/(?:^|\s)#.*$/, '').split(/[|;&()]/));
  return commands.map((command) => command.trim()).filter((command) => command !== '');
}

/** Returns the non-existent scripts, files, services and variables that a command refers to. */
function missingIn(command: string): string[] {
  const script = /\bnpm (?:-\S+ )*run (?:-\S+ )*([\w:-]+)/.exec(command)?.[1];
  const paths = captures(
    command,
    /(?<![\w/.-])((?:audit|bench|deploy|dist|public|scripts|src|test)\/[\w./-]+)/g,
  );
  const settings = /^(?:[A-Z][A-Z_]*=\S* )+(?=npm |docker )/.exec(command)?.[0] ?? '';
  return [
    ...(script === undefined || script in scripts ? [] : [`npm run ${script}`]),
    ...paths.filter(
      (path) => !YOURS.test(path) && !existsSync(join(ROOT, path.replace(/^dist(.*)js$/, 'src$1ts'))),
    ),
    ...servicesIn(command).filter((service) => !SERVICES.has(service)),
    ...captures(settings, /([A-Z_]+)=/g).filter((name) => !VARIABLES.has(name)),
  ];
}

/** Returns the services that a `docker compose` command names. After `run` and `exec`, only the first word is a service. */
function servicesIn(command: string): string[] {
  const [, rest = ''] = /\bdocker compose (.*)/.exec(command) ?? [];
  const words = rest
    .replaceAll(/(?:^| )(?:(?:-f|--(?:profile|signal|entrypoint)) \S+|-\S+)/g, '')
    .trim()
    .split(/ +/);
  const [verb = '', ...names] = words;
  if (verb === 'run' || verb === 'exec') return names.slice(0, 1);
  return ['build', 'kill', 'logs', 'pull', 'restart', 'start', 'stop', 'up'].includes(verb) ? names : [];
}

function captures(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map(([, capture = '']) => capture);
}
