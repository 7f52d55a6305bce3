// Loaded before Cloakroom into a process of its own: whatever ends the benchmark, kill -9 included, ends that as well.
process.on('disconnect', () => process.exit());
process.channel?.unref();
