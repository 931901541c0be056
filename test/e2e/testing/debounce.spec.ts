import { UnrecoverableError } from 'nestjs-delay-queue';
import { describe, expect, it } from 'vitest';
import { MINUTE, SECOND, START, start, useKitBed } from '../../support/kit/kit-bed.js';

useKitBed();

/** Publishes every 100 ms for 5 s, always under the same id. */
async function changeForFiveSeconds({ harness, producer }: Awaited<ReturnType<typeof start>>): Promise<void> {
  for (let at = 0; at < 5 * SECOND; at += 100) {
    const options = { id: 'a', delay: '1s', onDuplicate: 'replace', maxWait: '2s' } as const;
    await producer.publish('jobs', `at ${at}`, options);
    await harness.advance(100);
  }
}

describe('a message that is replaced every 100 ms, with a delay of 1 s', () => {
  it('comes every 2 s with maxWait: 2s, each time as it was published last', async () => {
    const bed = await start();
    await changeForFiveSeconds(bed);
    await bed.harness.advance('1h');

    expect(bed.jobs.calls.map(({ payload, at }) => [at.getTime() - START.getTime(), payload])).toEqual([
      [2000, 'at 1900'],
      [4000, 'at 3900'],
      [5900, 'at 4900'],
    ]);
  });

  it('counts anew behind an attempt that failed, whose retry it replaces', async () => {
    const bed = await start();
    bed.jobs.respond = (payload) => {
      if (payload === 'at 1900') throw new Error('the mail server is down');
    };
    await changeForFiveSeconds(bed);
    await bed.harness.advance('1h');

    // The retry would be a minute later.
    expect(bed.jobs.calls.map(({ payload, message }) => [payload, message.attempt])).toEqual([
      ['at 1900', 1],
      ['at 3900', 1],
      ['at 4900', 1],
    ]);
  });

  it('says with each publish when it comes', async () => {
    const { harness, producer } = await start();
    const results: (readonly [minutes: number, duplicate: boolean])[] = [];
    for (let n = 0; n < 5; n++) {
      const options = { id: 'a', delay: '1m', onDuplicate: 'replace', maxWait: '2m' } as const;
      const { dueAt, duplicate } = await producer.publish('jobs', n, options);
      results.push([(dueAt.getTime() - START.getTime()) / MINUTE, duplicate]);
      await harness.advance('30s');
    }

    expect(results).toEqual([
      [1, false],
      [1.5, true],
      [2, true],
      [2, true],
      [3, false],
    ]);
  });
});

describe('a message that is moved by an operator', () => {
  it('comes when they say, and is limited again when it is replaced', async () => {
    const { admin, harness, producer, jobs, elapsed } = await start();
    const options = { id: 'a', delay: '1m', onDuplicate: 'replace', maxWait: '2m' } as const;
    await producer.publish('jobs', 'first', options);
    await producer.reschedule('jobs', 'a', { delay: '1h' });
    await harness.advance('10m');
    expect(jobs.calls).toEqual([]);

    const { dueAt } = await producer.publish('jobs', 'second', options);
    expect(dueAt).toEqual(new Date(START.getTime() + 2 * MINUTE));
    await harness.settle();
    expect(jobs.calls.map(({ payload }) => [payload, elapsed() / MINUTE])).toEqual([['second', 10]]);

    await producer.publish('jobs', 'third', options);
    expect(await admin.runNow('jobs', 'a')).toBe('moved');
    await harness.settle();
    expect(jobs.calls.at(-1)).toMatchObject({ payload: 'third' });
  });

  it('begins its time anew when it is requeued', async () => {
    const { admin, harness, producer, jobs } = await start();
    jobs.respond = () => {
      throw new UnrecoverableError('no such list');
    };
    const options = { id: 'a', delay: '1m', onDuplicate: 'replace', maxWait: '2m' } as const;
    await producer.publish('jobs', 'first', options);
    await harness.advance('1h');
    expect(harness.deadLetters('jobs')).toHaveLength(1);
    await admin.requeue('jobs', 'a', { delay: '1d' });

    const { dueAt } = await producer.publish('jobs', 'second', options);
    expect(dueAt).toEqual(new Date(START.getTime() + 61 * MINUTE));
  });
});
