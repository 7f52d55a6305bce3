/** Writes to the clipboard. */

/** Copies text. Returns false if the browser refuses, or has no clipboard API because the page was loaded over plain HTTP. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
