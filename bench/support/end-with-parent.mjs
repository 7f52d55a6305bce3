// Preloaded into a child process, which then exits when the benchmark ends, even by SIGKILL.
process.on('disconnect', () => process.exit());
process.channel?.unref();
