/**
 * Preloaded into a process that runs in a process group of its own: stops it when its parent is gone without having said so,
 * since no terminal does that for it.
 */
const GRACE = 5000;

process.once('disconnect', () => {
  process.kill(process.pid, 'SIGTERM');
  setTimeout(() => process.exit(1), GRACE).unref();
});
process.channel?.unref();
