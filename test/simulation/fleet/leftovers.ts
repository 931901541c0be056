import type { Scene } from './scene.js';
import { TOPICS } from './topics.js';

/** The keys of the jobs that are to be moved. */
export function leftOfImports({ server }: Scene): string[] {
  return server.data.keys.filter((key) => key.startsWith('{bullmq}:'));
}

/** The keys that hold something of messages that are done. */
export function leftovers({ server, copy }: Scene, topics: readonly string[] = Object.keys(TOPICS)): string[] {
  const keys = new copy.product.StoreKeys('dq');
  const stored = new Set(server.data.keys);
  return topics.flatMap((topic) =>
    Array.from({ length: TOPICS[topic]?.options.partitions ?? 0 }, (_, index) =>
      keys.partition({ topic, index }),
    ).flatMap((place) =>
      [
        place.scheduled,
        place.inflight,
        place.messages,
        place.deliveries,
        place.claims,
        place.blocked,
        place.queues,
        place.running,
        place.errors,
        place.dead,
      ].filter((key) => stored.has(key)),
    ),
  );
}
