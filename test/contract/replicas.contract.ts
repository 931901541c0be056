import { describe, expect } from 'vitest';
import { MAX_REPLICAS } from '../../lib/checks/limits.js';
import { type BrokerTest, message } from '../support/broker/broker-bed.js';

/** More than any broker under test has. */
const REPLICAS = { min: MAX_REPLICAS, timeout: 50 };

export function replicasContract(it: BrokerTest): void {
  describe('replicas', () => {
    it('are waited for as long as was asked, and how many have confirmed is told; the messages are stored', async ({
      bed,
    }) => {
      const startedAt = await bed.time();
      const publishing = bed.broker.messages.publish(bed.partition, bed.nextCall(), [message('a'), message('b')], {
        replicas: REPLICAS,
      });
      await bed.advance(REPLICAS.timeout);
      const results = await publishing;

      expect(results.map(({ status }) => status)).toEqual(['created', 'created']);
      for (const { confirmedBy } of results) expect(confirmedBy).toBeLessThan(REPLICAS.min);
      expect(await bed.time()).toBeGreaterThanOrEqual(startedAt + REPLICAS.timeout);
      expect(await bed.get('a')).toBeDefined();
      expect(await bed.get('b')).toBeDefined();
    });

    it('are waited for again by a repeat, which is no second publish', async ({ bed }) => {
      const call = bed.nextCall();
      await bed.publishAll([message('a')], call);
      const repeating = bed.broker.messages.publish(bed.partition, call, [message('a')], { replicas: REPLICAS });
      await bed.advance(REPLICAS.timeout);

      expect((await repeating)[0]).toMatchObject({ status: 'created', confirmedBy: expect.any(Number) });
      expect((await bed.stats()).counters.published).toBe(1);
    });

    it('are not counted if none were asked for', async ({ bed }) => {
      expect(await bed.publish('a')).not.toHaveProperty('confirmedBy');
    });
  });
}
