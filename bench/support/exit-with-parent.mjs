// When preloaded into a child process, makes the child exit with its parent, even if SIGKILL ends the parent.
process.on('disconnect', () => process.exit());
process.channel?.unref();
