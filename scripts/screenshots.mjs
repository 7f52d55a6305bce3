import { execFileSync } from 'node:child_process';
import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { ensureChromium } from './ensure-chromium.mjs';
import { ensurePackages } from './ensure-packages.mjs';
import { pathOf } from './ensure-programs.mjs';
import { launch, LaunchError, root } from './launch.mjs';

// Takes pictures of every page and state of the demo, for desktop and phone, light and dark, into screenshots/ with an index.html.
// Those that the documentation shows go into docs/images/. Arguments choose the states whose names contain one of them.

const FOLDER = `${root}screenshots`;
const DOCS = `${root}docs/images`;

/** Names of workspaces use many scripts. A browser without a font for one shows boxes. */
function warnOfMissingFonts() {
  const fontsFor = (/** @type {string} */ language) =>
    pathOf('fc-list') === undefined
      ? ''
      : execFileSync('fc-list', [`:lang=${language}`], { encoding: 'utf8' });
  const missing = ['ja', 'ar', 'he', 'hi', 'th'].filter((language) => fontsFor(language) === '');
  if (missing.length === 0) return;
  console.error(
    `Some names will show as boxes: no fonts for ${missing.join(', ')} (apt-get install fonts-noto-core fonts-noto-cjk).`,
  );
}

/** @param {readonly { readonly name: string, readonly pictures: readonly string[] }[]} taken */
function toIndex(taken) {
  const sections = taken.map(
    ({ name, pictures }) =>
      `<h2>${name}</h2>\n${pictures.map((file) => `<img src="${file}" alt="${file}" loading="lazy">`).join('\n')}`,
  );
  const style = 'body { font-family: sans-serif } img { border: 1px solid gray; max-height: 40rem }';
  return `<!doctype html>\n<title>Cloakroom, every page</title>\n<style>${style}</style>\n${sections.join('\n')}\n`;
}

await launch(async () => {
  await ensurePackages();
  await ensureChromium();
  warnOfMissingFonts();
  const { STATES } = await import('./screenshots/states.mjs');
  const { openPhotographer } = await import('./screenshots/photographer.mjs');
  const words = process.argv.slice(2);
  const wanted = STATES.filter(({ name }) => words.length === 0 || words.some((word) => name.includes(word)));
  if (wanted.length === 0)
    throw new LaunchError('No state has such a name: scripts/screenshots/states.mjs lists them.');

  await mkdir(FOLDER, { recursive: true });
  const photographer = await openPhotographer(FOLDER);
  try {
    const taken = [];
    for (const state of wanted) {
      const pictures = await photographer.take(state);
      taken.push({ name: state.name, pictures });
      console.log(`${state.name}: ${pictures.length} pictures`);
      if (state.docs !== undefined) await copyFile(`${FOLDER}/${pictures[0]}`, `${DOCS}/${state.docs}.png`);
    }
    if (words.length === 0) await writeFile(`${FOLDER}/index.html`, toIndex(taken));
    console.log(`The pictures are in ${FOLDER}, and those of the documentation in ${DOCS}, too.`);
  } finally {
    await photographer.end();
  }
});
