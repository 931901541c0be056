import { describe, expect, it } from 'vitest';
import { SECOND, START, start, useKitBed } from '../support/kit/kit-bed.js';

useKitBed();

describe('a message that is replaced every 100 ms, with a delay of 1 s and maxWait: 2s', () => {
  it('comes every 2 s, as it was published last, and each publish says when', async () => {
    const { harness, producer, jobs } = await start();
    const answers: unknown[] = [];
    for (let at = 0; at < 5 * SECOND; at += 100) {
      const options = { id: 'a', delay: '1s', onDuplicate: 'replace', maxWait: '2s' } as const;
      const { dueAt, duplicate } = await producer.publish('jobs', `at ${at}`, options);
      if (at % 800 === 0) answers.push([at, dueAt.getTime() - START.getTime(), duplicate]);
      await harness.advance(100);
    }
    await harness.advance('1h');

    expect(answers).toEqual([
      [0, 1000, false],
      [800, 1800, true],
      [1600, 2000, true],
      [2400, 3400, true],
      [3200, 4000, true],
      [4000, 5000, false],
      [4800, 5800, true],
    ]);
    expect(
      jobs.calls.map(({ payload, at, message }) => [at.getTime() - START.getTime(), payload, message.attempt]),
    ).toEqual([
      [2000, 'at 1900', 1],
      [4000, 'at 3900', 1],
      [5900, 'at 4900', 1],
    ]);
  });

  it('counts anew behind an attempt that failed, whose retry it replaces', async () => {
    const { harness, producer, jobs } = await start();
    jobs.respond = (payload) => {
      if (payload === 'first') throw new Error('the mail server is down');
    };
    const options = { id: 'a', delay: '1s', onDuplicate: 'replace', maxWait: '2s' } as const;
    await producer.publish('jobs', 'first', options);
    await harness.advance('2s');
    // The retry would be a minute later, and maxWait is over.
    const { dueAt } = await producer.publish('jobs', 'second', options);
    await harness.advance('1h');

    expect(dueAt.getTime() - START.getTime()).toBe(3000);
    expect(jobs.calls.map(({ payload, message }) => [payload, message.attempt])).toEqual([
      ['first', 1],
      ['second', 1],
    ]);
  });
});
