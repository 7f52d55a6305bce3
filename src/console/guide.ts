import { readFileSync } from 'node:fs';

/** The code that the guide shows: files that pages can load, and that tests run. */
export interface Guide {
  readonly callApi: string;
  readonly pages: string;
  readonly showWorkspaces: string;
  readonly viteConfig: string;
}

/** The folder has the same place beside `src` and `dist`. */
const FOLDER = new URL('../../public/guide/', import.meta.url);

/** Reads it from where browsers load it, so that what is shown is what runs. */
export function readGuide(): Guide {
  const read = (name: string) => readFileSync(new URL(name, FOLDER), 'utf8').trimEnd();
  return {
    callApi: read('call-api.js'),
    pages: read('pages.js'),
    showWorkspaces: read('show-workspaces.js'),
    viteConfig: read('vite.config.js'),
  };
}
