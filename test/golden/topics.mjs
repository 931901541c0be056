/** The topics of a record, by what is special in each. */
export const TOPICS = {
  waiting: { partitions: 2 },
  plain: { partitions: 2 },
  received: { partitions: 1 },
  ordered: { partitions: 1, ordered: true },
  blocking: { partitions: 1, ordered: { onDead: 'block' } },
  'limited-keys': { partitions: 1, maxInFlight: { key: 1 } },
  'rated-keys': { partitions: 1, rateLimit: { max: 1, per: '2s', by: 'key' } },
  limited: { partitions: 1, maxInFlight: { topic: 1 } },
  kept: { partitions: 1, finished: { maxAge: '10y' } },
  once: { partitions: 1, delivery: 'at-most-once', finished: { maxAge: '10y' } },
  paused: { partitions: 1 },
  held: { partitions: 1 },
  recurring: { partitions: 1 },
};
