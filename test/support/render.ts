import { createAssets } from '../../src/http/static-assets.ts';
import { createRender } from '../../src/http/templates.ts';

/** Renders the templates of the app. */
export const render = createRender({ asset: createAssets().url });
