import { createAssets } from '../../src/http/static-assets.ts';
import { createRender } from '../../src/http/templates.ts';

/** Our templates, as the app has them. */
export const render = createRender({ asset: createAssets().url });
