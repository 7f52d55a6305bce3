import { createAssets } from '../../src/platform/assets.ts';
import { createRender } from '../../src/platform/templates.ts';

/** Our templates, as the app has them. */
export const render = createRender({ asset: createAssets().address });
