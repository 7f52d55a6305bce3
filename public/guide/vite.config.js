/** Where Cloakroom listens; its PUBLIC_URL is this server's own origin, http://localhost:5173. */
const CLOAKROOM = 'http://127.0.0.1:3000';
const PATHS = ['/api', '/auth', '/workspaces', '/console', '/openapi.json', '/assets'];

/** changeOrigin stays false: Cloakroom sees the host that the browser sees. */
const proxy = Object.fromEntries(PATHS.map((path) => [path, { target: CLOAKROOM, changeOrigin: false }]));

export default { server: { port: 5173, strictPort: true, proxy } };
