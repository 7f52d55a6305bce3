import { expect, test } from '@jest/globals';
import express from 'express';
import request from 'supertest';
import { createSecurityHeaders } from '../../../src/http/security-headers.ts';

async function headersOf(https: boolean): Promise<Record<string, string>> {
  const app = express();
  app.use(createSecurityHeaders({ https }));
  app.get('/', (_req, res) => void res.send('page'));
  return (await request(app).get('/')).headers;
}

test('the content security policy allows only this origin, and nothing inline', async () => {
  const policy = (await headersOf(false))['content-security-policy'] ?? '';
  expect(policy.split(';')).toEqual([
    "default-src 'none'",
    "style-src 'self'",
    "script-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ]);
});

test('pages are not stored, framed, sniffed or shared with another window', async () => {
  expect(await headersOf(false)).toMatchObject({
    'cache-control': 'no-store',
    'x-frame-options': 'DENY',
    'x-content-type-options': 'nosniff',
    'cross-origin-opener-policy': 'same-origin',
    'referrer-policy': 'same-origin', // lets browsers send the origin with our own forms
  });
});

test('HSTS is sent under https, for this host only, and no header asks for https under http', async () => {
  expect((await headersOf(true))['strict-transport-security']).toBe('max-age=31536000');
  const headers = await headersOf(false);
  expect(headers['strict-transport-security']).toBeUndefined();
  expect(headers['content-security-policy']).not.toContain('upgrade-insecure-requests');
});
