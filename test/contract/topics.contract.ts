import { randomUUID } from 'node:crypto';
import { describe, expect } from 'vitest';
import type { BrokerTest } from '../support/broker/broker-bed.js';

export function topicsContract(it: BrokerTest): void {
  describe('topics', () => {
    it('are none at first', async ({ bed }) => {
      expect(await bed.broker.topics()).toEqual([]);
    });

    it('are those that were configured, each once, in order', async ({ bed }) => {
      for (const topic of ['b', 'a.b', 'B', 'a', 'b']) await bed.broker.configure(topic, 3);

      expect(await bed.broker.topics()).toEqual(['B', 'a', 'a.b', 'b']);
    });

    it('are not those that were only asked for', async ({ bed }) => {
      await bed.broker.configOf('a');
      await bed.broker.join('b', 'member', 1000, []);
      await bed.broker.stats({ topic: 'c', index: 0 });

      expect(await bed.broker.topics()).toEqual([]);
    });

    it('may be any number', async ({ bed }) => {
      const topics = Array.from({ length: 2001 }, () => randomUUID());
      await Promise.all(topics.map(async (topic) => bed.broker.configure(topic, 1)));

      expect(await bed.broker.topics()).toEqual(topics.toSorted());
    });
  });
}
