import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import express from 'express';
import request from 'supertest';
import { createAssets } from '../../../src/http/static-assets.ts';
import { ROOT } from '../../support/constants.ts';
import { useTestApp } from '../../support/fixtures.ts';

const PUBLIC = join(ROOT, 'dist/public');
const IMMUTABLE = 'public, max-age=31536000, immutable';
const OTHER_VERSION = '0123456789abcdef';

describe('a folder', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'cloakroom-assets-'));
    await mkdir(join(folder, 'inside'));
    await write('a.js', 'one();');
    await write('inside/b.js', 'b();');
  });
  afterEach(async () => rm(folder, { recursive: true }));

  const write = async (file: string, content: string) => writeFile(join(folder, file), content);
  const urlOfA = () => createAssets(folder).url('a.js');

  test('has the same URLs in every process', () => {
    const url = urlOfA();
    expect(url).toMatch(/^\/assets\/[0-9a-f]{16}\/a\.js$/);
    expect(urlOfA()).toBe(url);
  });

  test('changes the URL of a file only with that file', async () => {
    const before = urlOfA();
    await write('inside/b.js', 'c();');
    expect(urlOfA()).toBe(before);
    await write('a.js', 'a();');
    expect(urlOfA()).not.toBe(before);
  });

  test('is served as it was first read, even if its files have since changed', async () => {
    const assets = createAssets(folder);
    await write('a.js', 'another version');
    await rm(join(folder, 'inside'), { recursive: true });
    const app = express().use(assets.serve);
    expect((await request(app).get(assets.url('a.js')).expect(200)).text).toBe('one();');
    expect((await request(app).get(assets.url('inside/b.js')).expect(200)).text).toBe('b();');
  });

  test('has no URLs for hidden or unknown files, and those files are not served', async () => {
    await write('.a.js.swp', 'half a line');
    await write('a.js.br', 'a compressed copy');
    await mkdir(join(folder, '.git'));
    await write('.git/config', 'a remote');
    const assets = createAssets(folder);
    const app = express().use(assets.serve);
    for (const file of [
      '.a.js.swp',
      '.git/config',
      'a.js.br',
      'b.js',
      '../a.js',
      '/a.js',
      'inside',
      'constructor',
    ]) {
      expect(() => assets.url(file)).toThrow(`There is no asset ${file}`);
      await request(app).get(`/assets/${file}`).expect(404);
    }
  });
});

describe('Cloakroom', () => {
  const testApp = useTestApp();
  const open = (path: string) => request(testApp.origin).get(path);
  const cssUrl = () => testApp.services.assets.url('cloakroom.css');
  const css = async () => readFile(join(PUBLIC, 'cloakroom.css'), 'utf8');

  test.each([
    ['cloakroom.css', 'text/css; charset=utf-8'],
    ['console/console.js', 'text/javascript; charset=utf-8'],
    ['favicon.svg', 'image/svg+xml'],
    ['openapi.json', 'application/json; charset=utf-8'],
  ])('serves %s with its content type and as immutable', async (file, type) => {
    const response = await fetch(testApp.origin + testApp.services.assets.url(file));
    expect(response.status).toBe(200);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': type,
      'cache-control': IMMUTABLE,
      'x-content-type-options': 'nosniff',
    });
    expect(Buffer.from(await response.arrayBuffer())).toEqual(await readFile(join(PUBLIC, file)));
  });

  test.each([
    ['with the version from another process', `/assets/${OTHER_VERSION}/cloakroom.css`],
    ['without a version', '/assets/cloakroom.css'],
  ])('serves its own file at a URL %s, but does not let caches store it', async (_which, path) => {
    const response = await open(path).expect(200);
    expect(response.headers['cache-control']).toBe('no-store');
    expect(response.text).toBe(await css());
  });

  test('does not let caches store the 404 for an unknown file', async () => {
    const ours = cssUrl().replace('cloakroom.css', '');
    for (const path of [
      ours,
      `${ours}nowhere.js`,
      `${ours}${OTHER_VERSION}/cloakroom.css`,
      `${ours}console/`,
      `${ours}../cloakroom.css`,
      `${ours}%63loakroom.css`,
      `/assets/${OTHER_VERSION}`,
      '/assets',
      '/assets/%E0%A4%A',
    ]) {
      const response = await open(path);
      expect({ path, status: response.status }).toEqual({ path, status: 404 });
      expect(response.headers['cache-control']).toBe('no-store');
    }
  });

  test.each([
    ['Range', { range: 'bytes=9999999-' }],
    ['If-Match', { 'if-match': '"another"' }],
    ['If-None-Match', { 'if-none-match': '*' }],
    ['If-Unmodified-Since', { 'if-unmodified-since': 'Thu, 01 Jan 1970 00:00:00 GMT' }],
  ])('ignores %s and serves the whole file, so that caches never store an error', async (_what, headers) => {
    const response = await open(cssUrl()).set(headers).expect(200);
    expect(response.text).toBe(await css());
  });

  test('responds to HEAD with the headers of the file', async () => {
    const { headers } = await open(cssUrl()).set('accept-encoding', '');
    const head = await request(testApp.origin).head(cssUrl()).expect(200);
    expect(head.headers['cache-control']).toBe(IMMUTABLE);
    expect(head.headers['content-length']).toBe(headers['content-length']);
  });

  test('refuses a POST request for a file', async () => {
    const response = await request(testApp.origin).post(cssUrl()).expect(404);
    expect(response.headers['cache-control']).toBe('no-store');
  });
});
