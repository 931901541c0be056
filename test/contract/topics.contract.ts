import { randomUUID } from 'node:crypto';
import { describe, expect } from 'vitest';
import type { BrokerTest } from '../support/contract-bench.js';

export function topicsContract(it: BrokerTest): void {
  describe('topics', () => {
    it('are none at first', async ({ bench }) => {
      expect(await bench.broker.topics()).toEqual([]);
    });

    it('are those that were configured, each once, in order', async ({ bench }) => {
      for (const topic of ['b', 'a.b', 'B', 'a', 'b']) await bench.broker.configure(topic, 3);

      expect(await bench.broker.topics()).toEqual(['B', 'a', 'a.b', 'b']);
    });

    it('are not those that were only asked for', async ({ bench }) => {
      await bench.broker.configOf('a');
      await bench.broker.join('b', 'member', 1000, []);
      await bench.broker.stats({ topic: 'c', index: 0 });

      expect(await bench.broker.topics()).toEqual([]);
    });

    it('may be any number', async ({ bench }) => {
      const topics = Array.from({ length: 2001 }, () => randomUUID());
      await Promise.all(topics.map(async (topic) => bench.broker.configure(topic, 1)));

      expect(await bench.broker.topics()).toEqual(topics.toSorted());
    });
  });
}
