import { pages } from './pages.js';

/**
 * Lists all workspaces as they arrive.
 * @param {HTMLElement} list
 * @param {AbortSignal} [signal]
 */
export async function showWorkspaces(list, signal) {
  for await (const workspace of pages('/api/public/v1/workspaces', {
    limit: 50,
    ...(signal && { signal }),
  })) {
    const item = document.createElement('li');
    item.textContent = workspace.name ?? '–'; // as text, never as markup
    list.append(item);
  }
}
