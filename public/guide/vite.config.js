/** Where Cloakroom listens. Its PUBLIC_URL is the origin of this server, http://localhost:5173. */
const CLOAKROOM = 'http://127.0.0.1:3000';
const PATHS = ['/api', '/auth', '/workspaces', '/console', '/openapi.json', '/assets'];

/** With changeOrigin false, Cloakroom receives the host that the browser sends. */
const proxy = Object.fromEntries(PATHS.map((path) => [path, { target: CLOAKROOM, changeOrigin: false }]));

export default { server: { port: 5173, strictPort: true, proxy } };
