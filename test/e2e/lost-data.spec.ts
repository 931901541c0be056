import { Injectable } from '@nestjs/common';
import { ConfigurationError, DelayedHandler, type DelayedMessage } from 'nestjs-delay-queue';
import { describe, expect, it, vi } from 'vitest';
import { type Bed, onOwnRedis, useBed } from '../support/app/bed.js';
import { Jobs } from '../support/app/jobs.js';
import { brokerOf } from '../support/internals.js';
import { Recorder } from '../support/app/recorder.js';
import { Gate, eventually } from '../support/waiting.js';

const PARTITIONS = 4;

const DEFAULTS = { defaults: { partitions: PARTITIONS } };
const HEARTBEATS = { defaults: { partitions: PARTITIONS }, consumer: { maxIdleWait: 300 } };

const bed = useBed();

@Injectable()
class Mails extends Recorder<number> {
  @DelayedHandler('mails')
  async send(payload: number, message: DelayedMessage<number>) {
    return this.take(payload, message);
  }
}

async function owners(own: Bed, topic = 'jobs'): Promise<(string | undefined)[]> {
  return Promise.all(Array.from({ length: PARTITIONS }, async (_, index) => own.partition(topic, index).owner()));
}

/** What Redis knows of a topic, in both places. */
async function configsOf(own: Bed, topic: string): Promise<(string | null)[]> {
  const config = await own.redis.hget(`{${own.prefix}:${topic}}:config`, 'partitions');
  return [config, await own.redis.hget(`{${own.prefix}:fleet}:topics`, topic)];
}

describe('FLUSHALL', () => {
  it('costs what was stored, and nothing that is published and confirmed afterwards', async () => {
    await onOwnRedis(async (own) => {
      const first = await own.start({ providers: [Jobs], options: HEARTBEATS });
      const second = await own.start({ providers: [Jobs], options: HEARTBEATS });
      await eventually(async () => expect(new Set(await owners(own)).size).toBe(2));

      await own.redis.flushall();
      await eventually(async () => expect(await configsOf(own, 'jobs')).toEqual(['4', '4 3']));
      await eventually(async () => expect(await own.sessions()).toHaveLength(2));
      const messages = Array.from({ length: 100 }, (_, i) => ({ payload: i, options: { id: `m${i}` } }));
      await first.producer.publishMany('jobs', messages);

      const ids = messages.map(({ options }) => options.id);
      await eventually(() =>
        expect([...first.get(Jobs).ids, ...second.get(Jobs).ids].toSorted()).toEqual(ids.toSorted()),
      );
      await eventually(async () => {
        const stored = await owners(own);
        expect(stored).not.toContain(undefined);
        expect(new Set(stored).size).toBe(2);
      });

      const other = { providers: [Jobs], options: { ...HEARTBEATS, defaults: { partitions: PARTITIONS + 1 } } };
      expect(await own.failingBoot(other)).toBeInstanceOf(ConfigurationError);
    });
  });

  it('keeps nobody from handling what is published before the next heartbeat', async () => {
    await onOwnRedis(async (own) => {
      const app = await own.start({ providers: [Jobs], options: DEFAULTS });
      const held = new Gate();
      const broker = brokerOf(app.nest);
      const heartbeat = broker.fleet.heartbeat.bind(broker.fleet);
      vi.spyOn(broker.fleet, 'heartbeat').mockImplementation(async (...args) =>
        held.opened.then(() => heartbeat(...args)),
      );
      await own.redis.flushall();
      await app.producer.publishMany(
        'jobs',
        Array.from({ length: 50 }, (_, payload) => ({ payload })),
      );

      await app.events.acked.take(50);
      await eventually(async () => expect(await configsOf(own, 'jobs')).toEqual(['4', '4 3']));
      expect(await own.sessions()).toEqual([]);
      held.open();
    });
  });

  it('is undone for a topic by the next publish, if only a producer lives', async () => {
    await onOwnRedis(async (own) => {
      const { producer } = await own.start({ options: { defaults: { partitions: PARTITIONS }, consumer: false } });
      await producer.publish('jobs', 1, { id: 'lost', delay: '1h' });
      await own.redis.flushall();
      await producer.publish('jobs', 2, { id: 'kept' });

      await eventually(async () => expect(await configsOf(own, 'jobs')).toEqual(['4', '4 3']));
      const consumer = await own.start({ providers: [Jobs], options: {} });
      await consumer.events.acked.first();
      expect(consumer.get(Jobs).ids).toEqual(['kept']);
    });
  });
});

describe('an owner that another program', () => {
  it.each([
    { what: 'removes', value: undefined },
    { what: 'replaces by text without a session', value: 'nobody' },
    { what: 'replaces by another epoch of the same session', value: 'own' },
  ])('$what is back at the next publish', async ({ value }) => {
    const app = await bed.start({
      providers: [Jobs],
      options: { defaults: { partitions: 1 } },
    });
    const partition = bed.partition('jobs');
    const owner = await partition.owner();
    if (value === undefined) await bed.redis.del(partition.key('owner'));
    else await bed.redis.set(partition.key('owner'), value === 'own' ? `other ${owner}` : value);
    await app.producer.publish('jobs', 1, { id: 'a' });

    await app.events.acked.first();
    expect(app.get(Jobs).ids).toEqual(['a']);
    expect(await partition.owner()).toBe(owner);
  });

  it('replaces by a session that does not exist is back once that session would have ended', async () => {
    const app = await bed.start({ providers: [Jobs], options: { ...HEARTBEATS, defaults: { partitions: 1 } } });
    const partition = bed.partition('jobs');
    const owner = await partition.owner();
    await bed.redis.set(partition.key('owner'), 'epoch nowhere:1:nobody');
    await app.producer.publish('jobs', 1, { id: 'a' });

    await app.events.acked.first();
    expect(await partition.owner()).toBe(owner);
  });
});

describe('lists of topics that another program removes', () => {
  it('come back, so that a newcomer gets its share', async () => {
    const first = await bed.start({ providers: [Jobs], options: HEARTBEATS });
    await bed.redis.del(`{${bed.prefix}:fleet}:handled`);
    await bed.start({ providers: [Jobs, Mails], options: HEARTBEATS });

    await eventually(async () => expect(new Set(await owners(bed)).size).toBe(2));
    expect(await owners(bed, 'jobs')).not.toContain(undefined);
    expect(first.logs.errors).toEqual([]);
  });
});

describe('processes with different topics', () => {
  it('share the topics that both handle, and have the others for themselves', async () => {
    await bed.start({ providers: [Jobs], options: DEFAULTS });
    const [first] = await bed.sessions();
    const both = await bed.start({ providers: [Jobs, Mails], options: DEFAULTS });
    const second = (await bed.sessions()).find((session) => session !== first);

    await eventually(async () => {
      const stored = await owners(bed, 'jobs');
      for (const session of [first, second]) {
        expect(stored.filter((owner) => owner === session)).toHaveLength(PARTITIONS / 2);
      }
      expect(new Set(await owners(bed, 'mails'))).toEqual(new Set([second]));
    });
    await both.close();
    await eventually(async () => expect(new Set(await owners(bed, 'jobs'))).toEqual(new Set([first])));
    expect(new Set(await owners(bed, 'mails'))).toEqual(new Set([undefined]));
  });
});
