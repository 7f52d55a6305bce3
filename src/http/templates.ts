import { fileURLToPath } from 'node:url';
import { Eta } from 'eta';

/** Renders the template `views/{name}.eta`; every value is HTML-escaped. Throws where the template does. */
export type Render = (name: string, data: object) => string;

/**
 * Templates under `views/`, compiled once and kept. The folder has the same place beside `src` and `dist`. `shared` is what
 * each of them has beside its own data.
 */
export function createRender(shared: object = {}): Render {
  const views = fileURLToPath(new URL('../../views', import.meta.url));
  const eta = new Eta({ views, cache: true, autoEscape: true });
  return (name, data) => eta.render(name, { ...data, ...shared });
}
