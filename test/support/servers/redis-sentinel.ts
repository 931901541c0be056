import { writeFile } from 'node:fs/promises';
import { PrivateRedis, newRedis } from './redis-server.js';

/** The name under which a test's Sentinel knows its primary. */
export const PRIMARY = 'main';

/**
 * Starts a Sentinel that watches one primary.
 *
 * @param lines of its configuration, beside those that name the primary
 * @param quorum how many Sentinels have to agree that the primary is gone
 */
export async function startSentinel(
  primary: PrivateRedis,
  lines: readonly string[] = [],
  quorum = 1,
): Promise<PrivateRedis> {
  const sentinel = await newRedis((folder) => [`${folder}/sentinel.conf`, '--sentinel']);
  const { folder, port } = sentinel;
  const config = [
    `port ${port}`,
    'bind 127.0.0.1',
    `dir ${folder}`,
    `sentinel monitor ${PRIMARY} 127.0.0.1 ${primary.port} ${quorum}`,
    ...lines,
  ];
  await writeFile(`${folder}/sentinel.conf`, `${config.join('\n')}\n`);
  await sentinel.startOrStop();
  return sentinel;
}
