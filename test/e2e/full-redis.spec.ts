import { Injectable } from '@nestjs/common';
import { DelayedHandler, DelayQueueHealth } from 'nestjs-delay-queue';
import { describe, expect, it } from 'vitest';
import { type Bed, onOwnRedis } from '../support/app/bed.js';
import { report } from '../support/readings/statistics.js';
import { eventually } from '../support/waiting.js';

const FAILING = 12_500;
const GOOD = 2000;

/** How much may be stored beyond the limit, as a share of it. */
const TOLERANCE = 0.1;

/** Of these payloads it takes 12,500 failures to double the memory. */
const PAYLOAD = { order: 'A-1047', note: 'x'.repeat(80) };

@Injectable()
class Failures {
  readonly calls = new Map<string, number>();

  @DelayedHandler('failing', { lease: '2s' })
  async fail(_payload: unknown, { id }: { id: string }): Promise<void> {
    this.calls.set(id, (this.calls.get(id) ?? 0) + 1);
    throw new Error(`The order of ${id} cannot be shipped: ${'the address is incomplete; '.repeat(10)}`);
  }
}

@Injectable()
class Successes {
  handled = 0;

  @DelayedHandler('good')
  async handle(): Promise<void> {
    this.handled++;
  }
}

async function memoryOf({ redis }: Bed): Promise<number> {
  return Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))?.[1]);
}

async function publishAll(bed: Bed): Promise<void> {
  const app = await bed.start({ options: { consumer: false } });
  for (const [topic, count] of Object.entries({ failing: FAILING, good: GOOD })) {
    const messages = Array.from({ length: count }, (_, i) => ({ payload: PAYLOAD, options: { id: `${topic}-${i}` } }));
    await app.producer.publishMany(topic, messages);
  }
  await app.close();
}

async function countDead(bed: Bed): Promise<number> {
  const sizes = await Promise.all(Array.from({ length: 8 }, async (_, i) => bed.partition('failing', i).dead()));
  return sizes.flat().length;
}

describe('while Redis is full', () => {
  it('acks go on and outcomes that need room wait; once there is room, all are dead letters with their errors', async () => {
    await onOwnRedis(async (bed) => {
      await publishAll(bed);
      const limit = await memoryOf(bed);
      await bed.redis.config('SET', 'maxmemory', String(limit));

      const options = { defaults: { attempts: 1 }, consumer: { maxIdleWait: '1s' } } as const;
      const app = await bed.start({ providers: [Failures, Successes], options });
      const failures = app.get(Failures);
      const successes = app.get(Successes);
      let most = 0;
      await eventually(async () => {
        most = Math.max(most, await memoryOf(bed));
        expect(successes.handled).toBe(GOOD);
        expect(await bed.redis.dbsize()).toBeGreaterThan(0);
      });
      await app.events.acked.take(GOOD);
      // Longer than a lease: what waits keeps it, so no handler is called twice.
      const seen = failures.calls.size;
      for (const end = performance.now() + 3000; performance.now() < end;) most = Math.max(most, await memoryOf(bed));
      const { status, problems } = await app.get(DelayQueueHealth).check();
      const dead = await countDead(bed);

      expect(most / limit - 1).toBeLessThan(TOLERANCE);
      expect(dead).toBeLessThan(FAILING / 2);
      expect(failures.calls.size).toBeLessThan(FAILING / 2);
      expect(status).toBe('degraded');
      expect(problems).toEqual([
        expect.stringMatching(/^Redis is full: \d+ outcomes of this process wait until there is room$/),
      ]);
      expect(app.logs.warnings.filter((line) => line.includes('Redis is full'))).toHaveLength(1);

      await bed.redis.config('SET', 'maxmemory', '0');
      await eventually(async () => expect(await countDead(bed)).toBe(FAILING), 30_000);

      expect([...failures.calls.values()].every((calls) => calls === 1)).toBe(true);
      expect(app.events.stale.past).toEqual([]);
      for (let i = 0; i < 8; i++)
        expect(await bed.redis.hlen(bed.partition('failing', i).key('errors'))).toBe(
          (await bed.partition('failing', i).dead()).length,
        );
      report(
        `Full Redis (${limit} bytes): ${FAILING} failing messages took ${((most / limit - 1) * 100).toFixed(1)} % more; ` +
          `${seen} handled and ${dead} dead while it was full`,
      );
    });
  });
});
