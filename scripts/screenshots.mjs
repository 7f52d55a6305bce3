import { execFileSync } from 'node:child_process';
import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { ensureChromium } from './ensure-chromium.mjs';
import { ensurePackages } from './ensure-packages.mjs';
import { pathOf } from './ensure-programs.mjs';
import { launch, LaunchError, root } from './launch.mjs';

// Takes screenshots of the demo pages in all states, for desktop and phone, light and dark. Screenshots go into screenshots/, with an
// index.html. Screenshots for the documentation are copied into docs/images/. Arguments select states by part of their name.

const FOLDER = `${root}screenshots`;
const DOCS = `${root}docs/images`;

/** Prints a warning if fonts are missing. Workspace names use many scripts, and Chromium shows boxes for characters without a font. */
function warnAboutMissingFonts() {
  const fontsFor = (/** @type {string} */ language) =>
    pathOf('fc-list') === undefined
      ? ''
      : execFileSync('fc-list', [`:lang=${language}`], { encoding: 'utf8' });
  const missing = ['ja', 'ar', 'he', 'hi', 'th'].filter((language) => fontsFor(language) === '');
  if (missing.length === 0) return;
  console.error(
    `Fonts for ${missing.join(', ')} are missing. Some names will appear as boxes (apt-get install fonts-noto-core fonts-noto-cjk).`,
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
  warnAboutMissingFonts();
  const { STATES } = await import('./screenshots/states.mjs');
  const { openPhotographer } = await import('./screenshots/photographer.mjs');
  const words = process.argv.slice(2);
  const wanted = STATES.filter(({ name }) => words.length === 0 || words.some((word) => name.includes(word)));
  if (wanted.length === 0)
    throw new LaunchError('No state matches. scripts/screenshots/states.mjs lists all states.');

  await mkdir(FOLDER, { recursive: true });
  const photographer = await openPhotographer(FOLDER);
  try {
    const taken = [];
    for (const state of wanted) {
      const pictures = await photographer.take(state);
      taken.push({ name: state.name, pictures });
      console.log(`${state.name}: ${pictures.length} screenshots`);
      if (state.docs !== undefined) await copyFile(`${FOLDER}/${pictures[0]}`, `${DOCS}/${state.docs}.png`);
    }
    if (words.length === 0) await writeFile(`${FOLDER}/index.html`, toIndex(taken));
    console.log(`The screenshots are in ${FOLDER}. Copies for the documentation are in ${DOCS}.`);
  } finally {
    await photographer.end();
  }
});
