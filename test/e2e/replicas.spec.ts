import { NotReplicatedError } from 'nestjs-delay-queue';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Bed } from '../support/app/bed.js';
import { Jobs } from '../support/app/jobs.js';
import { SECOND, start, useKitBed } from '../support/kit/kit-bed.js';
import type { PrivateRedis } from '../support/servers/redis-server.js';
import { type ReplicatedRedis, hasReplicas, startReplicated } from '../support/servers/replicated-redis.js';

describe('on Redis, publishes with the option replicas', () => {
  /** What no test waits for in vain. */
  const PATIENT = { min: 2, timeout: '1m' };
  /** For those that wait in vain. */
  const IMPATIENT = { min: 2, timeout: 100 };
  let servers: ReplicatedRedis;
  let bed: Bed;

  beforeAll(async () => {
    servers = await startReplicated(2);
  });

  afterAll(() => servers.stop());

  beforeEach(async () => {
    bed = new Bed(servers.primary.url);
    await bed.open();
  });

  afterEach(async () => {
    replica().signal('SIGCONT');
    await hasReplicas(servers.primary, 2);
    await bed.close();
  });

  const replica = (): PrivateRedis => servers.replicas[1] as PrivateRedis;

  it('resolve once the replicas have the messages, which are handled as ever', async () => {
    const app = await bed.start({ providers: [Jobs], options: { publishTimeout: '1m', replicas: PATIENT } });
    await app.producer.publish('jobs', 1, { id: 'a' });
    await app.producer.publishMany('jobs', [{ payload: 2 }, { payload: 3, options: { replicas: IMPATIENT } }]);

    await app.get(Jobs).called(3);
    // One for each of two requirements.
    expect(await bed.connections()).toBe(4);
  });

  it('reject if a replica is missing; published once more, they resolve when it is back', async () => {
    const app = await bed.start({ options: { consumer: false, publishTimeout: '1m' } });
    replica().signal('SIGSTOP');
    const message = { id: 'a', delay: '1h', replicas: IMPATIENT };
    await expect(app.producer.publish('jobs', 1, message)).rejects.toMatchObject({
      code: 'NOT_REPLICATED',
      confirmed: 1,
    });
    const again = app.producer.publish('jobs', 1, { ...message, replicas: PATIENT, onDuplicate: 'ignore' });
    replica().signal('SIGCONT');
    await expect(again).resolves.toMatchObject({ duplicate: true });
  });

  it('do not wait behind one that asks for more replicas than there are', async () => {
    const app = await bed.start({ options: { consumer: false, publishTimeout: '1m' } });
    const message = { key: 'k', delay: '1h' };
    const inVain = app.producer.publish('jobs', 1, { ...message, replicas: { min: 3, timeout: '1s' } });
    const order: string[] = [];
    const failed = inVain.catch(() => order.push('in vain'));
    for (const n of [1, 2]) {
      await app.producer.publish('jobs', n, { ...message, replicas: PATIENT });
      order.push('confirmed');
    }
    await failed;
    expect(order).toEqual(['confirmed', 'confirmed', 'in vain']);
  });
});

describe('replicas that are too few', () => {
  const REPLICAS = { min: 2, timeout: '1s' };

  useKitBed();

  it('leave a publish unconfirmed; it is stored, and delivered', async () => {
    const { harness, producer, jobs, elapsed, tape } = await start({ options: { replicas: REPLICAS } });
    const published = tape('published');
    harness.setReplicas(1);
    let rejectedAt: number | undefined;
    const publishing = producer.publish('jobs', 1, { id: 'a' }).catch((error: unknown) => {
      rejectedAt = elapsed();
      return error;
    });
    await harness.advance('1m');

    expect(rejectedAt).toBe(SECOND);
    const error = await publishing;
    expect(error).toBeInstanceOf(NotReplicatedError);
    expect(error).toMatchObject({ topic: 'jobs', id: 'a', confirmed: 1, min: 2, timeout: SECOND });
    expect((error as Error).message).toMatch(
      /1 of 2 replicas.*'a'.*'jobs' within 1 second.*may exist.*onDuplicate: 'ignore'/,
    );
    expect(jobs.ids).toEqual(['a']);
    expect(published).toEqual([]);
  });

  it('confirm nothing of a duplicate either, unless it is refused, which needs none', async () => {
    const { harness, producer } = await start({ options: { replicas: REPLICAS } });
    harness.setReplicas(0);
    const codes: unknown[] = [];
    for (const onDuplicate of ['ignore', 'ignore', undefined] as const) {
      const publishing = producer.publish('jobs', 1, { id: 'a', delay: '1d', ...(onDuplicate && { onDuplicate }) });
      const [outcome] = await Promise.allSettled([publishing, harness.advance('1s')]);
      codes.push(outcome.status === 'rejected' && (outcome.reason as NotReplicatedError).code);
    }
    expect(codes).toEqual(['NOT_REPLICATED', 'NOT_REPLICATED', 'DUPLICATE_MESSAGE']);
  });

  it('are asked for by each message of publishMany(), which tells what became of each', async () => {
    const { harness, producer } = await start();
    harness.setReplicas(1);
    const messages = Object.entries({ a: 1, b: 2, c: 0, d: 1 }).map(([id, min]) => ({
      payload: id,
      options: { id, key: 'k', ...(min > 0 && { replicas: { min, timeout: 100 } }) },
    }));
    const publishing = producer.publishMany('jobs', messages);
    const [outcome] = await Promise.allSettled([publishing, harness.advance('1s')]);

    expect(outcome).toMatchObject({
      reason: {
        code: 'PUBLISH_MANY',
        results: [
          { status: 'fulfilled', value: { id: 'a' } },
          { status: 'rejected', reason: { code: 'NOT_REPLICATED', id: 'b', confirmed: 1 } },
          { status: 'fulfilled', value: { id: 'c' } },
          { status: 'fulfilled', value: { id: 'd' } },
        ],
      },
    });
  });
});
