import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { variableNames } from '../../src/config/load.ts';
import { localServiceVariables } from '../../src/local-service/config.ts';
import { ROOT } from '../support/constants.ts';

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

/** Variables that Node itself reads. */
const OF_NODE = ['NODE_EXTRA_CA_CERTS'];

describe('docker-compose.yml', () => {
  const text = read('docker-compose.yml');

  // The port mapping determines HOST and PORT. The other exceptions are set through files that another service writes.
  const exceptions = new Set(['HOST', 'PORT', 'REDIS_URL', 'CLIENT_SECRET', 'SESSION_KEYS']);

  test('passes every variable to the app and to the local service', () => {
    const passed = variablesOf(text, 'app');
    const files = ['REDIS_URL_FILE', 'CLIENT_SECRET_FILE', 'SESSION_KEYS_FILE'];
    const needed = [...variableNames.filter((name) => !exceptions.has(name)), ...files];
    expect(needed.filter((name) => !passed.includes(name))).toEqual([]);
    expect(variablesOf(text, 'local-service')).toEqual(
      expect.arrayContaining(Object.keys(localServiceVariables)),
    );
  });

  test('passes no unknown variables', () => {
    const known = new Set([...variableNames, ...Object.keys(localServiceVariables), ...OF_NODE]);
    const unread = (service: string) =>
      variablesOf(text, service).filter((name) => !known.has(name.replace(/_FILE$/, '')));
    expect([...unread('app'), ...unread('local-service')]).toEqual([]);
  });
});

describe('the Dockerfile', () => {
  const text = read('Dockerfile');

  test('uses the version from package.json as the default version', () => {
    const { version } = JSON.parse(read('package.json')) as { version: string };
    expect(text).toContain(`\nARG VERSION=${version}\n`);
  });

  test('starts only programs that exist, as does docker-compose.yml', () => {
    const programs = [...`${text}${read('docker-compose.yml')}`.matchAll(/dist\/([\w/-]+)\.js/g)];
    const sources = programs.map(([, name = '']) => `src/${name}.ts`);
    expect(sources).toContain('src/cli/compose/relay.ts');
    expect(sources.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });

  test('copies every folder that the app reads at runtime', () => {
    const folders = filesOf('src').flatMap((file) =>
      [...read(file).matchAll(/new URL\('(?:\.\.\/)+([\w-]+)(?![\w.-])/g)].map(([, folder = '']) => folder),
    );
    expect(new Set(folders)).toEqual(new Set(['views', 'dist']));
    for (const folder of ['views', 'public', 'src']) {
      expect(text).toContain(`COPY ${folder} ${folder}\n`);
      expect(read('.dockerignore')).toContain(`\n!${folder}\n`);
    }
  });

  test('passes the same options to Node as npm start and the systemd unit', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    const options = scripts['start']?.match(/--[\w-]+(?:=\S+)?/g) ?? [];
    expect(options.length).toBeGreaterThan(0);
    expect(text).toContain(`"node", ${options.map((option) => JSON.stringify(option)).join(', ')}]`);
    expect(read('docs/deploy.md')).toContain(`ExecStart=/usr/bin/node ${options.join(' ')} dist/main.js\n`);
  });

  test('does not run commands in a shell', () => {
    const commands = text.match(/^(?:RUN|CMD|ENTRYPOINT)\s.*$|\bCMD\s.*$/gm) ?? [];
    expect(commands.length).toBeGreaterThan(5);
    expect(commands.filter((command) => !/^[A-Z]+ (?:--mount=\S+ )?\[".*\]$/.test(command))).toEqual([]);
  });
});

test('.dockerignore excludes every file except those that it names', () => {
  const [first, ...rules] = read('.dockerignore')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  expect(first).toBe('*');
  expect(rules.filter((rule) => rule.startsWith('!') && !/^![\w./-]+$/.test(rule))).toEqual([]);
});

/** Returns the variable names in the `environment` of a service. */
function variablesOf(compose: string, service: string): string[] {
  const block = new RegExp(`^ {2}${service}:\\n((?: {4}.*\\n|\\n)*)`, 'm').exec(compose)?.[1] ?? '';
  const environment = /^ {4}environment:\n((?: {6}.*\n)*)/m.exec(block)?.[1] ?? '';
  return [...environment.matchAll(/^ {6}([A-Z_]+):/gm)].map(([, name = '']) => name);
}

function filesOf(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(folder, name));
}
