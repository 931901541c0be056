import { InvalidArgumentError, NotReplicatedError } from 'nestjs-delay-queue';
import { describe, expect, it } from 'vitest';
import { SECOND, start, useKitBed } from '../../support/kit/kit-bed.js';

useKitBed();

describe('replicas of the broker', () => {
  const REPLICAS = { min: 2, timeout: '1s' };

  it('confirm every publish until a test says how many there are', async () => {
    const { harness, producer } = await start({ options: { replicas: REPLICAS } });
    await producer.publish('jobs', 1);
    harness.setReplicas(2);
    await producer.publish('jobs', 2, { replicas: { min: 2, timeout: '5s' } });

    expect(harness.published('jobs')).toHaveLength(2);
    expect(() => harness.setReplicas(-1)).toThrow(InvalidArgumentError);
  });

  it('leave a publish unconfirmed if they are too few; it is stored, and delivered', async () => {
    const { harness, producer, jobs, elapsed, tape } = await start({ options: { replicas: REPLICAS } });
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
    expect(tape('published')).toEqual([]);
  });

  it('confirm what is published once more with onDuplicate: ignore; a duplicate that is refused needs none', async () => {
    const { harness, producer } = await start({ options: { replicas: REPLICAS } });
    harness.setReplicas(0);
    const [first] = await Promise.allSettled([
      producer.publish('jobs', 1, { id: 'a', delay: '1d' }),
      harness.advance('1s'),
    ]);
    expect(first).toMatchObject({ reason: { code: 'NOT_REPLICATED' } });
    const [refused] = await Promise.allSettled([producer.publish('jobs', 1, { id: 'a' }), harness.advance('1s')]);
    expect(refused).toMatchObject({ reason: { code: 'DUPLICATE_MESSAGE' } });
    harness.setReplicas(2);

    await expect(producer.publish('jobs', 1, { id: 'a', onDuplicate: 'ignore' })).resolves.toMatchObject({
      duplicate: true,
    });
  });

  it('are asked for by each message of publishMany(), which tells what became of each', async () => {
    const { harness, producer } = await start();
    harness.setReplicas(1);
    const timeout = 100;
    const publishing = producer.publishMany('jobs', [
      { payload: 1, options: { id: 'a', key: 'k', replicas: { min: 1, timeout } } },
      { payload: 2, options: { id: 'b', key: 'k', replicas: { min: 2, timeout } } },
      { payload: 3, options: { id: 'c', key: 'k' } },
      { payload: 4, options: { id: 'd', key: 'k', replicas: { min: 1, timeout } } },
    ]);
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

  it('are not waited for when publishTimeout is over', async () => {
    const options = { publishTimeout: '2s', replicas: { min: 1, timeout: '2s' } };
    const { harness, producer, elapsed } = await start({ options });
    harness.setReplicas(0);
    const first = producer.publish('jobs', 1, { key: 'k' }).catch(() => {});
    await harness.advance('1s');
    // It has to wait for the first one, and so it is not sent in time.
    const second = producer.publish('jobs', 2, { key: 'k' }).catch((error: unknown) => ({ error, at: elapsed() }));
    await harness.advance('1m');

    await first;
    expect(await second).toMatchObject({ error: { code: 'BROKER_UNAVAILABLE' }, at: 3 * SECOND });
  });
});
