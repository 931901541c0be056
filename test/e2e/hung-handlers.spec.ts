import { DelayQueueHealth } from 'nestjs-delay-queue';
import { describe, expect, it } from 'vitest';
import { useBed } from '../support/app/bed.js';
import { Jobs } from '../support/app/jobs.js';
import { Gate, eventually } from '../support/waiting.js';

const bed = useBed();

/** Messages whose id begins with `hanging` hang until the test ends, and heed no signal. */
async function start(timeout: number) {
  const app = await bed.start({
    providers: [Jobs],
    options: {
      defaults: { partitions: 1, timeout, attempts: 3, backoff: { type: 'fixed', delay: 50 } },
      consumer: { concurrency: 2, shutdownTimeout: 100 },
    },
  });
  const jobs = app.get(Jobs);
  const gate = new Gate();
  jobs.respond = async (_payload, { id }) => {
    if (id.startsWith('hanging')) await gate.opened;
  };
  const { producer, events } = app;
  return { producer, events, jobs, gate, health: app.get(DelayQueueHealth) };
}

describe('handlers that hang', () => {
  it('end as dead letters by their attempts, keep no slot, and are named by the health report', async () => {
    const { producer, events, jobs, gate, health } = await start(200);
    const begun = performance.now();
    for (const id of ['hanging-1', 'hanging-2']) await producer.publish('jobs', null, { id });
    const good = Array.from({ length: 30 }, (_, i) => `good-${i}`);
    for (const [i, id] of good.entries()) await producer.publish('jobs', null, { id, delay: 50 * i });

    const dead = await events.dead.take(2);
    // A third of it is what the timeouts and backoffs add up to.
    expect(performance.now() - begun).toBeLessThan(5000);
    expect(dead.map(({ id, attempt, failure: { code } }) => `${id} ${attempt} ${code}`).toSorted()).toEqual([
      'hanging-1 3 HANDLER_TIMEOUT',
      'hanging-2 3 HANDLER_TIMEOUT',
    ]);
    await events.acked.take(30);
    for (const id of ['hanging-1', 'hanging-2']) expect(jobs.callsOf(id)).toHaveLength(1);
    await eventually(async () => {
      const { status, abandoned } = await health.check();
      expect(status).toBe('degraded');
      expect(abandoned.count).toBe(2);
      expect(abandoned.oldest.map(({ ids, topic, handler }) => `${ids.join()} ${topic} ${handler}`).toSorted()).toEqual(
        ['hanging-1 jobs Jobs.work', 'hanging-2 jobs Jobs.work'],
      );
    });

    gate.open();
    await eventually(async () => expect(await health.check()).toMatchObject({ status: 'up', abandoned: { count: 0 } }));
  });

  it('do not keep a message that is cancelled', async () => {
    const { producer, events, jobs, gate } = await start(100);
    await producer.publish('jobs', null, { id: 'hanging', timeout: 100, attempts: 1000 });
    // From its second attempt on it waits for the first one to end.
    await events.retried.take(2);
    await eventually(async () => {
      expect(['cancelled', 'in-flight']).toContain(await producer.cancel('jobs', 'hanging'));
    });
    await eventually(async () => expect(await bed.partition('jobs').envelope('hanging')).toBeUndefined());
    expect(jobs.calls).toHaveLength(1);
    gate.open();
  });
});
