import type { Scene } from '../fleet/scene.js';
import { TOPICS } from '../fleet/topics.js';
import { isForeign, isUnavailable } from './errors.js';

/** An operator looks at what has died, and removes it. */
export function bury({ copy, server, rules, topics, processes }: Scene): void {
  const keys = new copy.product.StoreKeys('dq');
  const running = [...processes].filter(({ isDead, connection }) => !isDead && connection);
  // Another build refuses what speaks a protocol that it does not know.
  const operator = running.find(({ product }) => product === copy.product) ?? running[0];
  for (const topic of topics) {
    const partitions = Array.from({ length: TOPICS[topic]?.options.partitions ?? 0 }, (_, index) => index);
    const places = partitions.map((index) => keys.partition({ topic, index }).dead);
    rules.deaths.look(topic, places);
    if (!operator?.connection || !places.some((key) => server.data.keys.includes(key))) continue;
    operator.connection.admin.remove(topic, { all: true }).catch((error: unknown) => {
      if (!isUnavailable(error) && !isForeign(error)) rules.failed(`${operator.name} removes what is dead`, error);
    });
  }
}
