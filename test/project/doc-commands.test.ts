import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { variableNames } from '../../src/config/load.ts';
import { fileVariables } from '../../src/config/schema.ts';
import { localServiceVariables } from '../../src/local-service/config.ts';
import { ROOT } from '../support/constants.ts';

// Readers paste the commands in the docs. Most commands need a cluster, a container or an hour, so these tests check only the
// syntax and the programs, npm scripts, files, Compose services and variables in each command.

const DOCUMENTS = [
  ...readdirSync(ROOT),
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' }).map((file) => `docs/${file}`),
].filter((file) => file.endsWith('.md') && file !== 'CHANGELOG.md');

const SCRIPTS = Object.keys(
  (JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: object }).scripts,
);

/** Suppresses parser warnings about Compose's custom tags. */
const UNKNOWN_TAGS = { logLevel: 'error' } as const;

const SERVICES = new Set(
  ['docker-compose.yml', 'deploy/compose.scaled.yml'].flatMap((file) => {
    const { services } = parse(readFileSync(join(ROOT, file), 'utf8'), UNKNOWN_TAGS) as { services: object };
    return Object.keys(services);
  }),
);

/** Programs that readers have: the usual shell programs and those that the docs introduce. */
const PROGRAMS = new Set(
  (
    'awk base64 caddy cat cd chmod chown cp curl docker echo export git grep haproxy head install journalctl jq kill kubectl mkdir mv ' +
    'nginx node npm openssl printf promtool redis-cli redis-server rm sed sleep sort sudo sudoedit systemctl tail tee test tr ' +
    'umask uniq useradd wc'
  ).split(' '),
);

const VARIABLES = new Set([
  ...variableNames,
  ...fileVariables.map((name) => `${name}_FILE`),
  ...Object.keys(localServiceVariables),
  ...['NODE_ENV', 'NODE_OPTIONS', 'NODE_EXTRA_CA_CERTS', 'PROPERTY_SEED'],
  ...['docker-compose.yml', 'deploy/compose.scaled.yml', 'deploy/Caddyfile', 'deploy/haproxy.cfg'].flatMap(
    (file) =>
      [...readFileSync(join(ROOT, file), 'utf8').matchAll(/\{?\$\{?([A-Z_\d]+)/g)].map(
        ([, name = '']) => name,
      ),
  ),
]);

const KEYWORDS = /^(?:do|done|if|then|else|fi|until|while|\{|\}|!)(?: +|$)/;

interface Command {
  readonly words: readonly string[];
  readonly line: string;
}

describe.each(DOCUMENTS)('%s', (file) => {
  const text = readFileSync(join(ROOT, file), 'utf8');

  test('contains only commands whose programs, scripts and files exist', () => {
    expect(commandsIn(text).flatMap(faultsOf)).toEqual([]);
  });

  test('contains only valid shell syntax', () => {
    for (const block of blocksIn(text)) expect(() => checkSyntax(block)).not.toThrow();
  });
});

describe('the command checks', () => {
  test.each([
    ['npm script', 'npm run nothing', 'npm run nothing'],
    ['npm script after a pipe', 'cat a | npm run -s nothing', 'npm run nothing'],
    ['test', 'npm test -- test/nowhere', 'test/nowhere'],
    ['program', 'fetchit http://localhost', 'fetchit'],
    ['Compose service', 'docker compose exec nothing ls', 'nothing'],
    ['Compose file', 'docker compose -f deploy/nothing.yml up', 'deploy/nothing.yml'],
    ['module', 'docker run cloakroom:1 dist/cli/nothing.js', 'dist/cli/nothing.js'],
    ['variable', 'PROT=1 npm run demo', 'PROT'],
  ])('find a missing %s', (_what, command, fault) => {
    expect(commandsIn(`\`\`\`sh\n${command}\n\`\`\``).flatMap(faultsOf)).toEqual([
      expect.stringContaining(fault),
    ]);
  });

  test('find a missing npm script in a code span', () => {
    expect(commandsIn('Run `npm run nothing`.').flatMap(faultsOf)).toHaveLength(1);
  });

  test('find more than 80 commands in the docs', () => {
    const all = DOCUMENTS.flatMap((file) => commandsIn(readFileSync(join(ROOT, file), 'utf8')));
    expect(all.length).toBeGreaterThan(80);
  });
});

/** Returns the fenced blocks of shell commands. */
function blocksIn(text: string): string[] {
  return [...text.matchAll(/^( *)```sh\n([^]*?)^\1```$/gm)].map(([, indent = '', block = '']) =>
    block.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  );
}

/** Returns the commands in all blocks, and the npm commands in code spans. */
function commandsIn(text: string): Command[] {
  const spans = [...text.matchAll(/`((?:[A-Z_]+=\S+ )*npm (?:run|test|start)[^`\n]*)`/g)].map(
    ([, span = '']) => span,
  );
  const functions = new Set([...text.matchAll(/^\s*(\w+)\(\) *\{/gm)].map(([, name = '']) => name));
  return [...blocksIn(text), ...spans]
    .flatMap(toCommands)
    .filter(({ words: [name = ''] }) => !functions.has(name));
}

function toCommands(block: string): Command[] {
  const lines = block
    .replaceAll(/\\\n\s*/g, ' ')
    .replaceAll(/<<'?(\w+)'?[^]*?\n\1$/gm, '')
    .replaceAll(/(?:^|[ \t])#.*$/gm, '')
    .replaceAll(/'[^']*'|"[^"]*"/g, (quoted) => (/[\s|;&()]/.test(quoted) ? 'QUOTED' : quoted.slice(1, -1)))
    .split('\n');
  return lines.flatMap((line) =>
    line
      .split(/\|\|?|&&?|;|\$\(|[()]/)
      .map((command) => ({ words: withoutKeywords(command.trim()).split(/\s+/).filter(Boolean), line }))
      .filter(({ words }) => words.length > 0),
  );
}

function withoutKeywords(command: string): string {
  // `for` is followed by a name and a list, not by a command.
  if (command.startsWith('for ')) return '';
  return KEYWORDS.test(command) ? withoutKeywords(command.replace(KEYWORDS, '')) : command;
}

/** Returns the programs, scripts, services, files and variables in a command that do not exist. */
function faultsOf({ words, line }: Command): string[] {
  const start = words.findIndex((word) => !/^[A-Za-z_][\w]*=/.test(word));
  const settings = words.slice(0, start < 0 ? words.length : start).map((word) => word.split('=')[0] ?? '');
  const [program = '', ...args] = start < 0 ? [] : words.slice(start);
  const faults = [
    ...settings.filter((name) => start >= 0 && !VARIABLES.has(name)),
    ...(program === '' || PROGRAMS.has(program) || existsSync(join(ROOT, program)) ? [] : [program]),
    ...(program === 'npm' ? missingScript(args) : []),
    ...(program === 'docker' && args[0] === 'compose' ? missingServices(args.slice(1)) : []),
    ...args.filter(isMissingFile),
  ];
  return faults.map((fault) => `${fault} in: ${line}`);
}

function missingScript(args: readonly string[]): string[] {
  const [verb, ...names] = args.filter((arg) => !arg.startsWith('-'));
  if (verb !== 'run') return [];
  const [name = ''] = names;
  return SCRIPTS.includes(name) ? [] : [`npm run ${name}`];
}

const TAKES_SERVICE = new Set(['build', 'exec', 'kill', 'logs', 'pull', 'restart', 'run', 'stop', 'up']);
const WITH_VALUE = new Set([
  '-f',
  '--file',
  '--profile',
  '--signal',
  '--entrypoint',
  '--env',
  '--user',
  '--scale',
]);

/** Returns the services in a `docker compose` command that no Compose file defines. `run` and `exec` take one service. */
function missingServices(args: readonly string[]): string[] {
  const plain = args.filter((arg, at) => !arg.startsWith('-') && !WITH_VALUE.has(args[at - 1] ?? ''));
  const [verb = '', ...names] = plain;
  if (!TAKES_SERVICE.has(verb)) return [];
  const services = verb === 'run' || verb === 'exec' ? names.slice(0, 1) : names;
  return services.filter((name) => !SERVICES.has(name));
}

function isMissingFile(word: string): boolean {
  const path = word.replace(/^.*?=/, '').replace(/^.*cloakroom\/is\//, '');
  if (/[*<>$…]|overlays\/mine/.test(path)) return false;
  if (/^dist\/[\w/-]+\.js$/.test(path))
    return !existsSync(join(ROOT, path.replace(/^dist(.*)js$/, 'src$1ts')));
  return (
    /^(?:audit|bench|deploy|docs|public|scripts|src|test|views)\//.test(path) && !existsSync(join(ROOT, path))
  );
}

function checkSyntax(block: string): void {
  execFileSync('bash', ['-n'], { input: block, stdio: ['pipe', 'ignore', 'pipe'] });
}
