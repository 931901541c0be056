import { RateLimitedError } from 'nestjs-delay-queue';
import { describe, expect, it } from 'vitest';
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
    const bed = await start({ options: { defaults: { rateLimit: { max: 1, per: '1d' } } } });
    await publish(bed, 30);
    await bed.harness.advance('31d');
    expect(bed.jobs.ids).toHaveLength(30);
  });
});
