/** What a Redis is started with that keeps an append-only file. */
export const WITH_FILE: readonly string[] = ['--appendonly', 'yes', '--repl-diskless-sync-delay', '0'];

/**
 * One that is killed comes back with all that it has answered. With `everysec`, the default, a write waits for up to two seconds in the
 * process itself while the disk is busy.
 */
export const WITH_SYNCED_FILE: readonly string[] = [...WITH_FILE, '--appendfsync', 'always'];
