import { ensureBuild } from './ensure-build.mjs';
import { ensureKubectl } from './ensure-kubectl.mjs';
import { ensureProgram } from './ensure-programs.mjs';
import { runPackage } from './launch.mjs';

/** What the tests run beside the packages: programs, and the app as it is shipped. */
export async function prepareTests() {
  await ensureProgram('redis-server', 'redis-server');
  await ensureProgram('chromium', 'chromium');
  await ensureProgram('curl', 'curl');
  await ensureProgram('haproxy', 'haproxy');
  await ensureProgram('promtool', 'prometheus');
  await ensureKubectl();
  await ensureBuild();
}

/**
 * Runs jest and resolves with its exit code.
 * @param {readonly string[]} args
 */
export function runJest(args) {
  // jest can't load ES modules otherwise, and says that this is an experiment once for each worker.
  const nodeOptions = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'];
  return runPackage('jest/bin/jest.js', args, nodeOptions);
}
