import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import type { Finding } from '../../../src/cli/doctor/finding.ts';
import { createSmallProject } from '../../project/small-project.ts';
import { createCertificate, type Certificate } from '../../support/certificate.ts';
import { envOf, validEnv } from '../../support/doctor/doctor.ts';
import { createDotEnvFolder } from '../../support/dot-env-folder.ts';
import { useTestApp } from '../../support/fixtures.ts';
import { startProgram } from '../../support/programs.ts';

interface Report {
  readonly ok: boolean;
  readonly checks: readonly Finding[];
}

const testApp = useTestApp();
let env: Record<string, string>;

beforeAll(() => {
  env = envOf(testApp);
});

/** Runs the same script as `npm run doctor`, with only these environment variables. */
async function doctor(variables: Record<string, string>, ...args: string[]) {
  await using program = await startProgram(process.execPath, ['scripts/doctor.mjs', ...args], variables);
  return await program.waitForExit();
}

function parse(output: string): Report {
  return JSON.parse(output) as Report;
}

function find(output: string, id: string): Finding | undefined {
  return parse(output).checks.find((check) => check.id === id);
}

describe('npm run doctor', () => {
  test('exits with 0 if there are only warnings', async () => {
    const { code, output } = await doctor(env);
    expect(output).toMatch(/^ok {7}Redis commands: /m);
    expect(output).toMatch(/^warning {2}Redis persistence: .*\n {9}To do: /m);
    expect(output).toMatch(/\nNo problems; \d warnings?\.\n$/);
    expect(code).toBe(0);
  });

  test('prints each problem with its remedy, and exits with 1', async () => {
    const variables = { ...env, CLIENT_SECRET: 'a-wrong-secret' };
    await using program = await startProgram('npm', ['run', '-s', 'doctor'], variables);
    const { code, output } = await program.waitForExit();
    expect(output).toMatch(/^PROBLEM {2}CLIENT_ID and CLIENT_SECRET: .*\n {9}To do: /m);
    expect(output).toMatch(/\n1 problem and \d warnings?: see above\.\n$/);
    expect(code).toBe(1);
  });

  test('prints only a JSON object if --json is given', async () => {
    const { code, output } = await doctor({ ...env, CLIENT_SECRET: 'a-wrong-secret' }, '--json');
    const report = parse(output);
    expect(report.ok).toBe(false);
    expect(Object.keys(report)).toEqual(['ok', 'checks']);
    for (const check of report.checks) {
      expect(Object.keys(check)).toEqual(['id', 'status', 'title', 'detail', 'remedy']);
      expect(check.status).toMatch(/^(?:ok|warning|problem|skipped)$/);
    }
    expect(find(output, 'service-credentials')?.status).toBe('problem');
    expect(code).toBe(1);
  });

  test('reports every check under a documented id, whatever the configuration', async () => {
    const outputs = await Promise.all([doctor(env, '--json'), doctor({}, '--json')]);
    const [valid = [], invalid = []] = outputs.map(({ output }) => parse(output).checks.map(({ id }) => id));
    expect(new Set(valid).size).toBe(valid.length);
    expect(invalid.filter((id) => !id.startsWith('variable:'))).toEqual(
      valid.filter((id) => id !== 'variables'),
    );
    const guide = await readFile(new URL('../../../docs/deploy.md', import.meta.url), 'utf8');
    expect(valid.filter((id) => !guide.includes(`\`${id}\``))).toEqual([]);
  });

  test('refuses an unknown argument', async () => {
    const { code, output } = await doctor(env, '--jsn');
    expect(output).toMatch(/^Usage: npm run doctor/);
    expect(code).toBe(2);
  });

  test('checks the production configuration unless NODE_ENV is set', async () => {
    await using project = await createSmallProject({
      '.env': 'PUBLIC_URL=https://app.example.com',
      'dist/cli/doctor.js': `console.log(process.env['NODE_ENV']);\n`,
    });
    expect((await project.run('doctor.mjs', { env: { NODE_ENV: '' } })).stdout).toBe('production\n');
  });

  test('runs with only the dist folder, and reads .env outside production', async () => {
    await using folder = await createDotEnvFolder('PUBLIC_URL=http://localhost:6000\n');
    const run = async (mode: string) =>
      (await folder.start('dist/cli/doctor.js', { NODE_ENV: mode }, '--json')).output;
    expect(find(await run('development'), 'public-url')?.detail).toContain('http://localhost:6000');
    expect(find(await run('production'), 'variable:PUBLIC_URL')?.remedy).toContain('.env');
  });

  const twoHoursAgo = Date.now() - 7_200_000;
  test.each([
    ['from an unknown authority is a problem', createCertificate('localhost'), false, 'is not trusted here'],
    ['that has expired is a problem', createCertificate('localhost', twoHoursAgo), true, 'has expired'],
    ['for another name is a problem', createCertificate('another.example'), true, 'for another name'],
    ['that is trusted is not a problem', createCertificate('localhost'), true, 'running at https://'],
  ])('reports that a service certificate %s', async (_, certificate, isTrusted, words) => {
    expect((await reachService(certificate, isTrusted))?.detail).toContain(words);
  });
});

/** Returns the doctor's finding about a connection to a service with this certificate. */
async function reachService(certificate: Certificate, isTrusted: boolean) {
  const folder = await mkdtemp(join(tmpdir(), 'cloakroom-doctor-'));
  const NODE_EXTRA_CA_CERTS = join(folder, 'trusted.pem');
  await writeFile(NODE_EXTRA_CA_CERTS, isTrusted ? certificate.cert : '');
  const server = createServer(certificate, (_req, res) => res.end('{}')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const variables = { ...validEnv, SERVICE_URL: `https://localhost:${port}`, NODE_EXTRA_CA_CERTS };
  const { output } = await doctor(variables, '--json');
  server.close();
  server.closeAllConnections();
  await rm(folder, { recursive: true });
  return find(output.slice(output.indexOf('{')), 'service-reachable');
}
