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
// syntax, and the npm scripts, files, Compose services and variables that each command refers to.

const DOCUMENTS = [
  ...readdirSync(ROOT),
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' }).map((file) => `docs/${file}`),
].filter((file) => file.endsWith('.md') && file !== 'CHANGELOG.md');

const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');

const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };

const COMPOSE_FILES = ['docker-compose.yml', 'deploy/compose.scaled.yml'];
const services = COMPOSE_FILES.flatMap((file) => {
  // Suppresses warnings about Compose's custom tags.
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

  test('contains only commands whose scripts, files, services and variables exist', () => {
    expect(commandsIn(text).flatMap(missingIn)).toEqual([]);
  });

  test('contains only valid shell syntax', () => {
    for (const block of blocksIn(text))
      expect(() => execFileSync('bash', ['-n'], { input: block, stdio: 'pipe' })).not.toThrow();
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

  test('find more than 80 commands in the docs', () => {
    expect(DOCUMENTS.flatMap((file) => commandsIn(read(file))).length).toBeGreaterThan(80);
  });
});

/** Returns the fenced blocks of shell commands, without their indentation. */
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

/** Returns the scripts, files, services and variables that a command refers to and that do not exist. */
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

/** Returns the services that a `docker compose` command names. After `run` and `exec`, only the first word is one. */
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
