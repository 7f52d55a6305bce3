import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, test } from '@jest/globals';
import { bindPort } from '../../src/platform/listening.ts';

test('a bound port turns away who comes before its server', async () => {
  await using bound = await bindPort('127.0.0.1', 0, 'PORT');
  const early = connect(bound.port, '127.0.0.1');
  await once(early.resume(), 'close');
  expect(early.destroyed).toBe(true);
});

test('a bound port that no server took over is let go', async () => {
  const bound = await bindPort('127.0.0.1', 0, 'PORT');
  await bound[Symbol.asyncDispose]();
  await using again = await bindPort('127.0.0.1', bound.port, 'PORT');
  expect(again.port).toBe(bound.port);
});

test('a port that is taken is named, with the setting to change', async () => {
  await using bound = await bindPort('127.0.0.1', 0, 'PORT');
  await expect(bindPort('127.0.0.1', bound.port, 'METRICS_PORT')).rejects.toThrow(
    `127.0.0.1:${bound.port} is already in use. Free it, or set METRICS_PORT to another port.`,
  );
});
