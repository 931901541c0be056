import { NotReplicatedError, PublishManyError } from 'nestjs-delay-queue';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Bed } from '../support/app/bed.js';
import { Jobs } from '../support/app/jobs.js';
import type { PrivateRedis } from '../support/servers/redis-server.js';
import { type ReplicatedRedis, hasReplicas, startReplicated } from '../support/servers/replicated-redis.js';

/** What no test waits for in vain. */
const PATIENT = { min: 2, timeout: '1m' };

/** For those that wait in vain. */
const IMPATIENT = { min: 2, timeout: 100 };

describe('publishes with the option replicas', () => {
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
    const error: unknown = await app.producer.publish('jobs', 1, message).catch((reason: unknown) => reason);

    expect(error).toBeInstanceOf(NotReplicatedError);
    expect(error).toMatchObject({ topic: 'jobs', id: 'a', confirmed: 1, min: 2, timeout: 100 });
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

  it('tell of each message of publishMany() whether it was confirmed', async () => {
    const app = await bed.start({ options: { consumer: false } });
    replica().signal('SIGSTOP');
    const publishing = app.producer.publishMany('jobs', [
      { payload: 1, options: { id: 'a', replicas: { min: 1, timeout: '5s' } } },
      { payload: 2, options: { id: 'b', replicas: IMPATIENT } },
      { payload: 3, options: { id: 'c' } },
    ]);

    await expect(publishing).rejects.toThrow(PublishManyError);
    await expect(publishing).rejects.toMatchObject({
      results: [
        { status: 'fulfilled', value: { id: 'a' } },
        { status: 'rejected', reason: { code: 'NOT_REPLICATED', id: 'b', confirmed: 1 } },
        { status: 'fulfilled', value: { id: 'c' } },
      ],
    });
  });
});
