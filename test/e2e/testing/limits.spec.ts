import { Injectable } from '@nestjs/common';
import { DelayedHandler, RateLimitedError } from 'nestjs-delay-queue';
import { describe, expect, it } from 'vitest';
import { partitionOf } from '../../support/internals.js';
import { Gate, eventually } from '../../support/waiting.js';
import { type KitBed, MINUTE, SECOND, START, start, useKitBed } from '../../support/kit/kit-bed.js';

useKitBed();

async function publish({ producer }: KitBed, count: number, key?: string): Promise<void> {
  const messages = Array.from({ length: count }, (_, n) => ({
    payload: n,
    options: { id: `m${n}`, ...(key === undefined ? {} : { key }) },
  }));
  await producer.publishMany('jobs', messages);
}

/** When each call began, in seconds since the start. */
function seconds({ jobs }: KitBed): number[] {
  return jobs.calls.map(({ at }) => Math.floor((at.getTime() - START.getTime()) / SECOND));
}

describe('in the testing kit', () => {
  it('a rate is kept in its time, with one process and many messages', async () => {
    const bed = await start({ options: { defaults: { rateLimit: { max: 3, per: '1m' } } } });
    await publish(bed, 8);
    await bed.harness.advance('1s');
    expect(seconds(bed)).toEqual([0, 0, 0]);
    await bed.harness.advance('3m');
    expect(seconds(bed)).toEqual([0, 0, 0, 60, 60, 60, 120, 120]);
  });

  it('a rate counts retries, and what waits spends no attempt', async () => {
    const bed = await start({ options: { defaults: { rateLimit: { max: 2, per: '2m' } } } });
    bed.jobs.respond = (_payload, { attempt }) => {
      if (attempt < 3) throw new Error('Not yet');
    };
    await publish(bed, 2);
    await bed.harness.advance('5m');
    expect(seconds(bed)).toEqual([0, 0, 120, 120, 240, 240]);
    expect(bed.jobs.calls.map(({ message: { attempt } }) => attempt)).toEqual([1, 1, 2, 2, 3, 3]);
  });

  it('a rate counts the messages of batches', async () => {
    const handled: unknown[] = [];
    @Injectable()
    class Batches {
      @DelayedHandler('batches', { batch: 7 })
      handle(payloads: unknown[]): void {
        handled.push(...payloads);
      }
    }
    const topics = { batches: { partitions: 1, rateLimit: { max: 10, per: '1m' } } } as const;
    const bed = await start({ options: { topics }, providers: [Batches] });
    await bed.producer.publishMany(
      'batches',
      Array.from({ length: 20 }, (_, n) => ({ payload: n })),
    );
    await bed.harness.advance('59s');
    expect(handled).toHaveLength(10);
    await bed.harness.advance('2s');
    expect(handled).toHaveLength(20);
  });

  it('a rate is shared: a partition with a backlog does not keep the others waiting', async () => {
    const rateLimit = { max: 12, per: '1m' } as const;
    const bed = await start({ options: { topics: { jobs: { partitions: 2, rateLimit } } } });
    const [busy, quiet] = [0, 1].map((partition) =>
      ['a', 'b', 'c', 'd'].find((key) => partitionOf(key, 2) === partition),
    );
    await publish(bed, 200, busy);
    await bed.harness.advance('1s');
    await bed.producer.publishMany(
      'jobs',
      ['q0', 'q1', 'q2'].map((id) => ({ payload: id, options: { id, key: quiet as string } })),
    );
    await bed.harness.advance('2m');
    expect(bed.jobs.ids.slice(12)).toEqual(expect.arrayContaining(['q0', 'q1', 'q2']));
    expect(bed.jobs.ids).toHaveLength(36);
  });

  it('a rate is not used up by what is cancelled, or is due later', async () => {
    const bed = await start({ options: { defaults: { rateLimit: { max: 2, per: '1h' } } } });
    await bed.producer.publish('jobs', 0, { id: 'gone', delay: '1s' });
    await bed.producer.publish('jobs', 0, { id: 'later', delay: '2h' });
    await bed.producer.cancel('jobs', 'gone');
    await bed.harness.advance('2s');
    await publish(bed, 2);
    await bed.harness.advance('1s');
    expect(bed.jobs.ids.toSorted()).toEqual(['m0', 'm1']);
  });

  it('the rate of a key is kept', async () => {
    const bed = await start({ options: { defaults: { rateLimit: { max: 1, per: '1m', by: 'key' } } } });
    await publish(bed, 3, 'k');
    await bed.producer.publish('jobs', 0, { id: 'other', key: 'l' });
    await bed.harness.advance('3m');
    expect(bed.jobs.ids.toSorted()).toEqual(['m0', 'm1', 'm2', 'other']);
    expect(seconds(bed)).toEqual([0, 0, 60, 120]);
  });

  it('what may be in flight is kept', async () => {
    const bed = await start({ options: { defaults: { maxInFlight: { topic: 2 } } } });
    let running = 0;
    let most = 0;
    bed.jobs.respond = async () => {
      most = Math.max(most, ++running);
      await Promise.resolve();
      running--;
    };
    await publish(bed, 9);
    await bed.harness.advance('1s');
    expect([bed.jobs.ids.length, most]).toEqual([9, 2]);
  });

  it('a rate limit that a handler meets holds the topic', async () => {
    const bed = await start();
    bed.jobs.respond = (_payload, { id }) => {
      if (id === 'm0' && bed.elapsed() < MINUTE) throw new RateLimitedError('1m');
    };
    await publish(bed, 1);
    await bed.harness.advance('1s');
    await bed.producer.publish('jobs', 0, { id: 'later' });
    await bed.harness.advance('58s');
    expect(bed.jobs.ids).toEqual(['m0']);
    expect((await bed.admin.stats('jobs')).heldUntil).toEqual(new Date(START.getTime() + MINUTE));
    await bed.harness.advance('2s');
    expect(bed.jobs.ids.toSorted()).toEqual(['later', 'm0', 'm0']);
  });

  it('a rate limit that a handler meets may hold the messages of a key, and no others', async () => {
    const bed = await start();
    bed.jobs.respond = (_payload, { id }) => {
      if (id === 'm0' && bed.elapsed() < MINUTE) throw new RateLimitedError('1m', { scope: 'key' });
    };
    await publish(bed, 1, 'k');
    await bed.harness.advance('1s');
    await bed.producer.publish('jobs', 0, { id: 'same', key: 'k' });
    await bed.producer.publish('jobs', 0, { id: 'other', key: 'l' });
    await bed.harness.advance('58s');
    expect(bed.jobs.ids).toEqual(['m0', 'other']);
    await bed.harness.advance('2s');
    expect(bed.jobs.ids.slice(2).toSorted()).toEqual(['m0', 'same']);
  });

  it('a rate limit that a handler meets may put off its message alone, which spends no attempt', async () => {
    const bed = await start();
    bed.jobs.respond = (_payload, { id }) => {
      if (id === 'm0' && bed.jobs.calls.length < 6) throw new RateLimitedError('1s', { scope: 'message' });
    };
    await publish(bed, 3);
    await bed.harness.advance('1m');
    expect(bed.jobs.ids.toSorted()).toEqual(['m0', 'm0', 'm0', 'm0', 'm1', 'm2']);
    expect(new Set(bed.jobs.calls.map(({ message: { attempt } }) => attempt))).toEqual(new Set([1]));
  });

  it('an operator holds a topic: what runs goes on, no attempt is spent, and it ends by itself', async () => {
    const bed = await start();
    const end = new Gate();
    bed.jobs.respond = (payload) => (payload === 'runs' ? end.opened : undefined);
    await bed.producer.publish('jobs', 'runs', { id: 'runs' });
    await eventually(() => expect(bed.jobs.ids).toEqual(['runs']));
    expect(await bed.admin.hold('jobs', '1h')).toEqual(new Date(START.getTime() + 60 * MINUTE));
    await bed.admin.hold('jobs', '1m');
    end.open();
    await bed.producer.publish('jobs', 0, { id: 'waits' });
    await bed.harness.advance('59m');
    expect(bed.jobs.ids).toEqual(['runs']);
    expect(await bed.admin.stats('jobs')).toMatchObject({ inFlight: 0, due: 1 });
    await bed.harness.advance('1m');
    expect(bed.jobs.calls.map(({ message: { id, attempt } }) => [id, attempt])).toEqual([
      ['runs', 1],
      ['waits', 1],
    ]);
  });

  it('a month behind a limit takes no longer than its messages', async () => {
    // What waits for its permit does not run, or each message would take the whole patience.
    const bed = await start({ patience: '1m', options: { defaults: { rateLimit: { max: 1, per: '1d' } } } });
    await publish(bed, 30);
    await bed.harness.advance('31d');
    expect(bed.jobs.ids).toHaveLength(30);
  });
});
