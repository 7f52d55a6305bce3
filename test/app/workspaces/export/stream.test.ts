import { once } from 'node:events';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { eventually } from '../../../support/eventually.ts';
import { readMessage, dechunk } from '../../../support/raw-message.ts';
import { json } from '../../../support/raw-service.ts';
import { turns } from '../../../support/turns.ts';
import { workspaces } from '../small-service.ts';
import { startExportApp, toLines } from './export-app.ts';
import type { ExportApp } from './export-app.ts';

let bench: ExportApp;
beforeEach(async () => {
  bench = await startExportApp();
});
afterEach(async () => {
  await bench[Symbol.asyncDispose]();
});

test('A reader who pauses holds the export back: pages are asked for as they are read', async () => {
  // Two MB a page, 200 pages: many times what both ends of a connection keep.
  const text = 'x'.repeat(20_000);
  const cookie = await bench.begin(Array.from({ length: 20_000 }, (_, id) => ({ id, text })));
  const reader = await bench.open('/workspaces.ndjson', cookie);
  await reader.until('HTTP/1.1 200');
  reader.socket.pause();
  const calls = () => bench.service.calls.length;
  let before: number;
  do {
    before = calls();
    await turns(2_000);
  } while (calls() > before);
  expect(before).toBeLessThan(20);

  reader.socket.resume();
  await eventually(async () => calls() > before);
  reader.socket.destroy();
  await once(reader.socket, 'close');
});

test('A page is on its way to the reader before the next one has come', async () => {
  const items = workspaces(150);
  const cookie = await bench.begin(items);
  let answer = () => {};
  bench.intercept = (call, socket) => {
    if (call.next === null) return false;
    answer = () => socket.write(json(200, { value: items.slice(100) }));
    return null;
  };
  const reader = await bench.open('/workspaces.ndjson', cookie);
  await reader.until('"Workspace 100"');
  await eventually(async () => bench.service.calls.length === 2);
  answer();
  const bytes = Buffer.from(await reader.until('\r\n0\r\n\r\n'), 'latin1');
  reader.socket.destroy();
  const rest = readMessage(bytes)?.rest ?? Buffer.alloc(0);
  expect(dechunk(rest)?.toString()).toBe(toLines(items));
});

test('An export that is under way when the process is told to end comes to its own end', async () => {
  const cookie = await bench.begin(workspaces(537));
  let go = () => {};
  bench.intercept = (call, socket) => {
    if (call.next !== bench.service.given[1]) return false;
    go = () => socket.write(json(200, { value: [{ id: 'the last' }] }));
    return null;
  };
  const reader = await bench.open('/workspaces.ndjson', cookie);
  await eventually(async () => bench.service.calls.length === 3);
  const drained = bench.testApp.running.drain(60_000);
  await eventually(async () => (await fetch(`${bench.testApp.origin}/healthz`).catch(() => null)) === null);
  go();
  expect(await reader.over).toBe('end');
  expect(reader.text()).toMatch(/"the last"[^]*\r\n0\r\n\r\n$/);
  expect(await drained).toBe(true);
});

test('Who leaves before the session is read takes no place from the next export', async () => {
  const cookie = await bench.begin(workspaces(250));
  for (let visit = 0; visit < 30; visit += 1) {
    const reader = await bench.open('/workspaces.csv', cookie);
    await turns(visit % 10);
    reader.socket.destroy();
  }
  await eventually(async () => (await bench.get('/workspaces.csv', cookie)).status === 200);
  const both = await Promise.all(
    ['csv', 'ndjson'].map(async (form) => bench.get(`/workspaces.${form}`, cookie)),
  );
  expect(both.map(({ status }) => status)).toEqual([200, 200]);
});
