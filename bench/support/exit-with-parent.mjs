// Preloaded into a child process. Makes it exit when its parent exits, even if SIGKILL ends the parent.
process.on('disconnect', () => process.exit());
process.channel?.unref();
