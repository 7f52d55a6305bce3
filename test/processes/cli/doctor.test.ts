import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createCertificate } from '../../support/certificate.ts';
import type { Certificate } from '../../support/certificate.ts';
import { envOf, soundEnv } from '../../support/doctor/doctor.ts';
import { createDotEnvFolder } from '../../support/dot-env-folder.ts';
import { startTestApp } from '../../support/test-app.ts';
import type { TestApp } from '../../support/test-app.ts';
import { startProgram } from '../../support/programs.ts';
import { createSmallProject } from '../../project/small-project.ts';

interface Said {
  readonly code: number | null;
  readonly output: string;
}

interface Report {
  readonly ok: boolean;
  readonly checks: { id: string; status: string; title: string; detail: string; remedy: string }[];
}

let testApp: TestApp;
let env: Record<string, string>;

beforeAll(async () => {
  testApp = await startTestApp();
  env = envOf(testApp);
});

afterAll(async () => {
  await testApp[Symbol.asyncDispose]();
});

/** What `npm run doctor` runs, with nothing in its environment but this. */
async function doctor(variables: Record<string, string>, ...args: string[]): Promise<Said> {
  await using program = await startProgram(process.execPath, ['scripts/doctor.mjs', ...args], variables);
  const said = await program.ended();
  return said;
}

function find(output: string, id: string) {
  const { checks } = JSON.parse(output) as Report;
  return checks.find((check) => check.id === id);
}

describe('npm run doctor', () => {
  test('says that nothing is wrong, and ends with 0: warnings are no failure', async () => {
    const { code, output } = await doctor(env);
    expect(output).toMatch(/^ok {7}Redis: commands: /m);
    expect(output).toMatch(/^warning {2}Redis: persistence: .*\n {9}To do: /m);
    expect(output).toMatch(/\nNothing is wrong; \d warnings?\.\n$/);
    expect(code).toBe(0);
  });

  test('says what is wrong and what to do, and ends with 1', async () => {
    const variables = { ...env, CLIENT_SECRET: 'a-wrong-secret' };
    await using program = await startProgram('npm', ['run', '-s', 'doctor'], variables);
    const { code, output } = await program.ended();
    expect(output).toMatch(/^PROBLEM {2}Service: CLIENT_ID and CLIENT_SECRET: .*\n(?: {9}.*\n)* {9}To do: /m);
    expect(output).toMatch(/\n1 problem and \d warnings?: see above\.\n$/);
    expect(code).toBe(1);
  });

  test('says it as one JSON object and nothing else', async () => {
    const { code, output } = await doctor({ ...env, CLIENT_SECRET: 'a-wrong-secret' }, '--json');
    const report = JSON.parse(output) as Report;
    expect(report.ok).toBe(false);
    expect(Object.keys(report)).toEqual(['ok', 'checks']);
    for (const check of report.checks) {
      expect(Object.keys(check)).toEqual(['id', 'status', 'title', 'detail', 'remedy']);
      expect(check.status).toMatch(/^(?:ok|warning|problem|skipped)$/);
    }
    expect(find(output, 'service-credentials')?.status).toBe('problem');
    expect(code).toBe(1);
  });

  test('tells each check by an id of its own that the guide for operators has, whatever is wrong', async () => {
    const reports = await Promise.all([doctor(env, '--json'), doctor({}, '--json')]);
    const [well = [], ill = []] = reports.map(({ output }) =>
      (JSON.parse(output) as Report).checks.map(({ id }) => id),
    );
    expect(new Set(well).size).toBe(well.length);
    expect(ill.filter((id) => !id.startsWith('variable:'))).toEqual(well.filter((id) => id !== 'variables'));
    // The guide for operators has them all.
    const guide = await readFile(new URL('../../../docs/operations.md', import.meta.url), 'utf8');
    expect(well.filter((id) => !guide.includes(`\`${id}\``))).toEqual([]);
  });

  test('takes no other arguments', async () => {
    const { code, output } = await doctor(env, '--jsn');
    expect(output).toMatch(/^Usage: npm run doctor/);
    expect(code).toBe(2);
  });

  test('looks at what npm start would run: production, without .env', async () => {
    await using project = await createSmallProject({
      '.env': 'PUBLIC_URL=https://app.example.com',
      'dist/cli/doctor.js': `console.log(process.env['NODE_ENV']);\n`,
    });
    expect((await project.run('doctor.mjs', { env: { NODE_ENV: '' } })).stdout).toBe('production\n');
  });

  test('runs from dist alone, and reads .env outside of production', async () => {
    await using folder = await createDotEnvFolder('PUBLIC_URL=http://localhost:6000\n');
    const ask = async (mode: string) =>
      (await folder.start('dist/cli/doctor.js', { NODE_ENV: mode }, '--json')).output;
    expect(find(await ask('development'), 'public-url')?.detail).toContain('http://localhost:6000');
    expect(find(await ask('production'), 'dot-env')?.detail).toContain('PUBLIC_URL');
  });
});

describe('a certificate', () => {
  /** What is said of a service on TLS, as somebody who trusts this certificate. */
  const serving = async (certificate: Certificate, trusted?: Certificate) => {
    const folder = await mkdtemp(join(tmpdir(), 'cloakroom-doctor-'));
    const trust = trusted && join(folder, 'trusted.pem');
    if (trust) await writeFile(trust, trusted.cert);
    const server = createServer(certificate, (_req, res) => res.end('{}')).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const variables = {
      ...soundEnv,
      SERVICE_URL: `https://localhost:${port}`,
      ...(trust && { NODE_EXTRA_CA_CERTS: trust }),
    };
    const { output } = await doctor(variables, '--json');
    server.close();
    server.closeAllConnections();
    await rm(folder, { recursive: true });
    return find(output, 'service-reachable');
  };

  test('that nobody here has signed is told', async () => {
    const finding = await serving(createCertificate('localhost'));
    expect(finding?.detail).toContain('a certificate that it signed itself');
    expect(finding?.remedy).toContain('NODE_EXTRA_CA_CERTS');
  });

  test('that has expired is told', async () => {
    const certificate = createCertificate('localhost', Date.now() - 7_200_000);
    expect((await serving(certificate, certificate))?.detail).toContain('a certificate that has expired');
  });

  test('of another name is told', async () => {
    const certificate = createCertificate('another.example');
    expect((await serving(certificate, certificate))?.detail).toContain('a certificate of another name');
  });

  test('that is trusted is in order', async () => {
    const certificate = createCertificate('localhost');
    expect((await serving(certificate, certificate))?.status).toBe('ok');
  });
});
