import { until } from '../waiting.js';
import type { PrivateRedis } from './redis-server.js';

/** Has a server write a snapshot, which a restart without an append-only file reads. */
export async function takeSnapshot(server: PrivateRedis): Promise<void> {
  await server.ask(async (client) => {
    await client.bgsave();
    await until('the snapshot to be written', async () =>
      /^rdb_bgsave_in_progress:0/m.test(await client.info('persistence')),
    );
  });
}

/** Ends a server without an append-only file, and starts it again with its latest snapshot. */
export async function restoreSnapshot(server: PrivateRedis): Promise<void> {
  await server.kill();
  await server.start();
}
