/**
 * Preloaded into a process that has its own process group: stops it when its parent dies, since no terminal does that for it.
 */
const GRACE = 5000;

process.once('disconnect', () => {
  process.kill(process.pid, 'SIGTERM');
  setTimeout(() => process.exit(1), GRACE).unref();
});
process.channel?.unref();
