import type { Server } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { hasRequestsOauthlib } from '../../../scripts/requests-oauthlib.mjs';
import { openBench } from '../../support/local-service/service-under-test.ts';
import type { Bench } from '../../support/local-service/service-under-test.ts';
import { startPythonClient } from './python-client.ts';
import { allowAt, expectWholeFlow, signIn } from './whole-flow.ts';

let bench: Bench;
let strict: Server;
beforeAll(async () => {
  bench = await openBench();
  strict = await bench.start();
});
afterAll(async () => {
  await bench[Symbol.asyncDispose]();
});

const [describeIfInstalled, remark] = hasRequestsOauthlib()
  ? ([describe, ''] as const)
  : ([describe.skip, ' (skipped: python3-requests-oauthlib is not installed)'] as const);

describeIfInstalled(`requests-oauthlib${remark}`, () => {
  test('with include_client_id goes the whole way', async () => {
    await using client = startPythonClient(strict, 'body');
    await expectWholeFlow(client, bench, strict);
  });

  test('as it comes (HTTP Basic) is refused, but for the compatibility switch', async () => {
    await using refused = startPythonClient(strict, 'basic');
    await expect(signIn(refused)).rejects.toThrow('invalid_client');
    const compat = await bench.start({ compat: true });
    await using client = startPythonClient(compat, 'basic');
    await expectWholeFlow(client, bench, compat);
  });

  test('takes no callback with another’s state', async () => {
    await using other = startPythonClient(strict, 'body');
    await using client = startPythonClient(strict, 'body');
    await client.authorizationUrl();
    const callback = await allowAt(await other.authorizationUrl());
    await expect(client.takeCallback(callback)).rejects.toThrow('mismatching_state');
  });
});
