/** What keeps a program from starting, said in words that are all the operator needs: no stack is shown. */
export class StartupError extends Error {
  override readonly name: string = 'StartupError';
}

/** Runs a program and gives its exit code; a StartupError becomes its words on standard error, and 1. */
export async function exitCodeOf(program: () => Promise<number>): Promise<number> {
  try {
    return await program();
  } catch (error) {
    if (!(error instanceof StartupError)) throw error;
    process.stderr.write(`${error.message}\n`);
    return 1;
  }
}
