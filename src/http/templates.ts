import { fileURLToPath } from 'node:url';
import { Eta } from 'eta';

/** Renders the template `views/{name}.eta`, and HTML-escapes every value. Throws where the template throws. */
export type Render = (name: string, data: object) => string;

/** Compiles each template once. `shared` is data of every template. `views` stands beside both `src` and `dist`. */
export function createRender(shared: object = {}): Render {
  const views = fileURLToPath(new URL('../../views', import.meta.url));
  const eta = new Eta({ views, cache: true, autoEscape: true });
  return (name, data) => eta.render(name, { ...data, ...shared });
}
