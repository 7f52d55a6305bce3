/** What must be given; everything else has a default. */
export const minimalEnv = {
  SERVICE_URL: 'https://service.example.com',
  CLIENT_ID: 'an-app',
  CLIENT_SECRET: 'a-secret',
  SCOPES: 'room:read room:write',
  REDIS_URL: 'redis://localhost',
  SESSION_KEYS: Buffer.alloc(32, 7).toString('base64url'),
};
