import { randomUUID } from 'node:crypto';
import { describe, expect } from 'vitest';
import type { TopicLimits } from '../../lib/store/deliveries/limits.js';
import { PROTOCOL_BEFORE, PROTOCOL_VERSION } from '../../lib/store/fleet/topic-config.js';
import type { TopicHandling } from '../../lib/store/fleet/topic-handling.js';
import type { BrokerTest } from '../support/broker/broker-bed.js';

export function topicsContract(it: BrokerTest): void {
  describe('configure', () => {
    it('fixes the number of partitions at the first use of a topic', async ({ bed }) => {
      const { topic } = bed.partition;

      expect(await bed.broker.fleet.configure(topic, 16)).toEqual({ partitions: 16, protocol: PROTOCOL_VERSION });
      expect(await bed.broker.fleet.configure(topic, 8)).toEqual({ partitions: 16, protocol: PROTOCOL_VERSION });
      expect(await bed.broker.fleet.configure(`${topic}.other`, 8)).toMatchObject({ partitions: 8 });
    });
  });

  describe('the protocol of a topic', () => {
    const [BEFORE, OURS] = [
      { partitions: 4, protocol: PROTOCOL_BEFORE },
      { partitions: 4, protocol: PROTOCOL_VERSION },
    ];

    it('is the one of its first use, is raised in both copies, and is never lowered', async ({ bed }) => {
      const { fleet } = bed.broker;
      const { topic } = bed.partition;
      for (const [protocol, stored] of [
        [PROTOCOL_BEFORE, BEFORE],
        [PROTOCOL_VERSION, OURS],
        [PROTOCOL_BEFORE, OURS],
      ] as const) {
        expect(await fleet.configure(topic, 4, undefined, {}, protocol)).toEqual(stored);
        expect([await fleet.configOf(topic), ...(await fleet.configsOf([topic]))]).toEqual([stored, stored]);
      }
    });

    it('can be raised by many at once', async ({ bed }) => {
      const { fleet } = bed.broker;
      const { topic } = bed.partition;
      await fleet.configure(topic, 4, 'block', {}, PROTOCOL_BEFORE);
      const raising = Array.from({ length: 20 }, async (_, i) =>
        fleet.configure(topic, 8, undefined, {}, i % 2 === 0 ? PROTOCOL_VERSION : PROTOCOL_BEFORE),
      );
      await Promise.all(raising);

      expect(await fleet.configsOf([topic])).toEqual([{ ...OURS, order: 'block' }]);
      expect(await fleet.configOf(topic)).toEqual({ ...OURS, order: 'block' });
    });

    it('of a new topic is the one that all sessions speak that have not left, if nothing is said of it', async ({
      bed,
    }) => {
      const { fleet } = bed.broker;
      const { topic } = bed.partition;
      const session = { count: 1, length: 1, digest: 'd' };
      await fleet.heartbeat({ ...session, session: 'new', protocol: PROTOCOL_VERSION });
      await fleet.leave({ ...session, session: 'gone' });
      expect(await fleet.configure(topic, 4)).toEqual(OURS);

      await fleet.heartbeat({ ...session, session: 'old' });
      expect(await fleet.configure(topic, 4)).toEqual(OURS);
      expect(await fleet.configure(`${topic}.other`, 4)).toEqual(BEFORE);
      await fleet.leave({ ...session, session: 'old', count: 2 });
      expect(await fleet.configure(`${topic}.other`, 4)).toEqual(BEFORE);
    });
  });

  describe('lifeOf', () => {
    it('names what a partition holds, once that is asked for', async ({ bed: { broker, partition } }) => {
      expect(await broker.messages.lifeOf(partition)).toBeUndefined();
      expect(await broker.messages.lifeOf(partition, 'first')).toBe('first');
      expect(await broker.messages.lifeOf(partition, 'second')).toBe('first');
      expect(await broker.messages.lifeOf(partition)).toBe('first');
      expect((await broker.messages.stats(partition)).counters).toMatchObject({ published: 0 });
    });
  });

  describe('configOf and configsOf', () => {
    it('answer what was fixed, and nothing of a topic that was never used', async ({ bed }) => {
      await bed.broker.fleet.configure('a', 3);
      await bed.broker.fleet.configure('fleet', 1024);

      const [a, fleet] = [
        { partitions: 3, protocol: PROTOCOL_VERSION },
        { partitions: 1024, protocol: PROTOCOL_VERSION },
      ];
      expect(await bed.broker.fleet.configOf('a')).toEqual(a);
      expect(await bed.broker.fleet.configOf('b')).toBeUndefined();
      expect(await bed.broker.fleet.configsOf(['fleet', 'b', 'a', 'fleet'])).toEqual([fleet, undefined, a, fleet]);
      expect(await bed.broker.fleet.configsOf([])).toEqual([]);
    });
  });

  describe('the limits of a topic', () => {
    const LIMITS: TopicLimits = { rate: { max: 50, per: 1000, by: 'key' }, inFlight: { topic: 10, key: 2 } };

    it('are those of its first use', async ({ bed }) => {
      expect(await bed.broker.fleet.configure('a', 3, undefined, { limits: LIMITS })).toMatchObject({ limits: LIMITS });
      expect(await bed.broker.fleet.configure('a', 3, undefined, { limits: { inFlight: { topic: 1 } } })).toMatchObject(
        {
          limits: LIMITS,
        },
      );
      expect(await bed.broker.fleet.configOf('a')).toMatchObject({ partitions: 3, limits: LIMITS });
      expect(await bed.broker.fleet.configsOf(['a'])).toMatchObject([{ partitions: 3, limits: LIMITS }]);
    });

    it('are those of whoever knows some, where the first use knew nothing of them', async ({ bed }) => {
      await bed.broker.fleet.configure('a', 3);
      expect(await bed.broker.fleet.configure('a', 3, undefined, { limits: LIMITS })).toMatchObject({ limits: LIMITS });
      expect(await bed.broker.fleet.configsOf(['a'])).toMatchObject([{ limits: LIMITS }]);
    });

    it('stay away once it was said that there are none', async ({ bed }) => {
      await bed.broker.fleet.configure('a', 3);
      await bed.broker.fleet.setTerms('a', {});
      expect(await bed.broker.fleet.configure('a', 3, undefined, { limits: LIMITS })).not.toHaveProperty('limits');
    });

    it.for<{ limits: TopicLimits }>([
      { limits: { rate: { max: 1, per: 60_000, by: 'topic' } } },
      { limits: { inFlight: { key: 3 } } },
      { limits: { rate: { max: 7, per: 1500, by: 'topic' }, inFlight: { topic: 5 } } },
    ])('can be replaced, and removed: $limits', async ({ limits }, { bed }) => {
      await bed.broker.fleet.configure('a', 3, 'continue', { limits: LIMITS });
      await bed.broker.fleet.setTerms('a', { limits });
      expect((await bed.broker.fleet.configOf('a'))?.limits).toEqual(limits);
      expect((await bed.broker.fleet.configsOf(['a']))[0]?.limits).toEqual(limits);

      await bed.broker.fleet.setTerms('a', {});
      expect(await bed.broker.fleet.configOf('a')).toEqual({
        partitions: 3,
        protocol: PROTOCOL_VERSION,
        order: 'continue',
      });
      expect((await bed.broker.fleet.configsOf(['a']))[0]?.limits).toBeUndefined();
    });

    it('are not stored with a topic that was never used', async ({ bed }) => {
      await bed.broker.fleet.setTerms('a', { limits: LIMITS });
      expect(await bed.broker.fleet.configOf('a')).toBeUndefined();
    });
  });

  describe('how a topic is handled', () => {
    const HANDLING: TopicHandling = {
      attempts: 9,
      backoff: { delays: [1000, 60_000], jitter: 0.5 },
      expireAfter: 5000,
      delivery: 'at-most-once',
      deadLetter: { maxAge: 86_400_000, maxCount: 0 },
      finished: { maxCount: 100 },
      serializer: true,
    };

    it.for<{ handling: TopicHandling; name: string }>([
      { name: 'all of it', handling: HANDLING },
      { name: 'a part of it', handling: { backoff: { delay: 1, factor: 1, maxDelay: 1, jitter: 0 } } },
      { name: 'what a later version knows', handling: { attempts: 2, later: { a: [1] } } as TopicHandling },
    ])('is stored with it, twice, beside its limits and without them: $name', async ({ handling }, { bed }) => {
      const limits: TopicLimits = { inFlight: { topic: 1, key: undefined }, rate: undefined };
      const { topic } = bed.partition;
      expect(await bed.broker.fleet.configure(topic, 3, undefined, { handling })).toMatchObject({ handling });
      expect(await bed.broker.fleet.configsOf([topic])).toMatchObject([{ handling }]);
      for (const terms of [{ limits, handling }, { handling }, { limits }]) {
        await bed.broker.fleet.setTerms(topic, terms);
        const config = { partitions: 3, protocol: PROTOCOL_VERSION, ...terms };
        expect(await bed.broker.fleet.configOf(topic)).toEqual(config);
        expect(await bed.broker.fleet.configsOf([topic])).toEqual([config]);
      }
    });
  });

  describe('topics', () => {
    it('are none at first', async ({ bed }) => {
      expect(await bed.broker.fleet.topics()).toEqual([]);
    });

    it('are those that were configured, each once, in order', async ({ bed }) => {
      for (const topic of ['b', 'a.b', 'B', 'a', 'b']) await bed.broker.fleet.configure(topic, 3);

      expect(await bed.broker.fleet.topics()).toEqual(['B', 'a', 'a.b', 'b']);
    });

    it('are not those that were only asked for', async ({ bed }) => {
      await bed.broker.fleet.configOf('a');
      await bed.broker.fleet.configsOf(['b']);
      await bed.broker.fleet.rememberTopics({ digest: 'd', topics: ['c'] });
      await bed.broker.messages.stats({ topic: 'd', index: 0 });

      expect(await bed.broker.fleet.topics()).toEqual([]);
    });

    it('may be any number', async ({ bed }) => {
      const topics = Array.from({ length: 2001 }, () => randomUUID());
      await Promise.all(topics.map(async (topic, i) => bed.broker.fleet.configure(topic, 1 + (i % 1024))));

      expect(await bed.broker.fleet.topics()).toEqual(topics.toSorted());
      const configs = await bed.broker.fleet.configsOf(topics);
      expect(configs.map((config) => config?.partitions)).toEqual(topics.map((_, i) => 1 + (i % 1024)));
    });
  });
}
