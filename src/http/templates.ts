import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Eta } from 'eta';

/** Renders the template `{name}.eta`, and HTML-escapes every value. Throws if the template throws. */
export type Render = (name: string, data: object) => string;

/** `views` is next to both `src` and `dist`. */
const VIEWS = fileURLToPath(new URL('../../views', import.meta.url));

/**
 * Compiles all templates in a folder. Every template receives `shared`. Rendering never reads a file, so error pages work even
 * when file descriptors run out.
 */
export function createRender(shared: object = {}, views = VIEWS): Render {
  const eta = new Eta({ views, cache: true, autoEscape: true });
  for (const file of readdirSync(views, { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.eta')) continue;
    const filepath = join(views, file);
    eta.templatesSync.define(filepath, eta.compile(readFileSync(filepath, 'utf8'), { filepath }));
  }
  return (name, data) => eta.render(name, { ...data, ...shared });
}
