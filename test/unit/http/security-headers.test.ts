import { expect, test } from '@jest/globals';
import express from 'express';
import request from 'supertest';
import { createSecurityHeaders } from '../../../src/http/security-headers.ts';

test('the security headers on a page allow only its own origin and no inline code, and omit HSTS over HTTP', async () => {
  const app = express().use(createSecurityHeaders({ https: false }));
  app.get('/', (_req, res) => void res.send('page'));
  const { headers } = await request(app).get('/');
  expect(headers['strict-transport-security']).toBeUndefined();
  expect(headers['content-security-policy']?.split(';')).toEqual([
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
