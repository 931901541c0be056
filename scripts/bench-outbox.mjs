/**
 * `npm run bench:outbox`: measures the outbox on a private Redis and a private database server: time from the commit to Redis, rows a second of
 * a relay, and what the users' transactions pay. `--only NAMES` (latency, fill, cost), `--runs N`, `--dialect mysql`, `--shards N`.
 */
import { buildOutboxBench, ensureLibraryBuilt } from './setup/build.mjs';
import { ensureDependencies } from './setup/dependencies.mjs';
import { runScript } from './setup/failure.mjs';
import { startRedis } from './setup/redis.mjs';
import { runApplication } from './setup/run.mjs';

await runScript(async () => {
  await ensureDependencies();
  const redis = await startRedis({ own: true });
  try {
    await ensureLibraryBuilt();
    const entry = await buildOutboxBench();
    const { code } = await runApplication(entry, process.argv.slice(2), { redisUrl: redis.url });
    return code;
  } finally {
    await redis.stop();
  }
});
