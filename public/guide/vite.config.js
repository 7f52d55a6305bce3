/** The URL at which Cloakroom listens, with PUBLIC_URL=http://localhost:5173. */
const CLOAKROOM = 'http://127.0.0.1:3000';
const PATHS = ['/api', '/auth', '/assets', '/workspaces', '/console', '/openapi.json'];

const proxy = Object.fromEntries(PATHS.map((path) => [path, { target: CLOAKROOM, changeOrigin: false }]));

export default {
  server: { port: 5173, strictPort: true, proxy },
  build: { assetsDir: 'app' }, // Cloakroom serves /assets
};
