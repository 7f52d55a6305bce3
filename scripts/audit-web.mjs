import { ensureApp } from './ensure-app.mjs';
import { ensurePackages } from './ensure-packages.mjs';
import { ensureFromApt, ensureProgram } from './ensure-programs.mjs';
import { launch, LaunchError, root, run } from './launch.mjs';

/** The required programs, each with its Debian package. */
const PROGRAMS = {
  'redis-server': 'redis-server',
  chromium: 'chromium',
  nginx: 'nginx',
  openssl: 'openssl',
  ip: 'iproute2',
  unshare: 'util-linux',
  slowhttptest: 'slowhttptest',
  ffuf: 'ffuf',
  wapiti: 'wapiti',
};

/** A network namespace with only the loopback interface. Scanners can't reach other hosts, and the usual ports are free. */
const OWN_NETWORK = ['--net', ...(process.getuid?.() === 0 ? [] : ['--map-root-user'])];
const WITH_LOOPBACK = 'ip link set lo up && exec "$@"';

await launch(async () => {
  await ensureApp();
  for (const [program, aptPackage] of Object.entries(PROGRAMS)) await ensureProgram(program, aptPackage);
  await ensurePackages(`${root}audit`);
  const { hasWordList, WORD_LIST } = await import('../audit/word-list.mjs');
  await ensureFromApt(WORD_LIST, 'dirb', hasWordList);
  if ((await run('unshare', [...OWN_NETWORK, 'true'])) !== 0) {
    throw new LaunchError('The audit has no permission to create a network namespace. Run it as root.');
  }
  const audit = [process.execPath, 'audit/web.mjs', ...process.argv.slice(2)];
  process.exitCode = await run('unshare', [...OWN_NETWORK, 'sh', '-c', WITH_LOOPBACK, 'audit', ...audit]);
});
