import { createAssets } from '../../src/http/static-assets.ts';
import { createRender } from '../../src/http/templates.ts';

/** Renders the app's templates. */
export const render = createRender({ asset: createAssets().url });
