import { setTimeout } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { BATCH_TOPIC, publishDue, startBatches } from '../support/app/batch-bed.js';
import { batchHandler } from '../support/app/batch-recorder.js';
import { useBed } from '../support/app/bed.js';
import { report } from '../support/readings/statistics.js';
import { abortOf, eventually, until } from '../support/waiting.js';

const bed = useBed();

function names(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `m${i}`);
}

describe('a handler of batches', () => {
  it('is called with arrays of payloads and messages, in the order in which they were due', async () => {
    const due = Math.ceil(await bed.time()) + 2000;
    await publishDue(bed, {
      a: { deliverAt: due + 2 },
      b: { deliverAt: due + 1, headers: { x: 'y' } },
      c: { deliverAt: due },
    });
    await until('all of them to be due', async () => (await bed.time()) > due + 2);
    const { jobs, events } = await startBatches(bed);
    const [call] = await jobs.called();
    expect(call?.payloads).toEqual(['payload of c', 'payload of b', 'payload of a']);
    expect(call?.messages).toMatchObject([
      { id: 'c', topic: BATCH_TOPIC, partition: 0, payload: 'payload of c', attempt: 1, maxAttempts: 5 },
      { id: 'b', headers: { x: 'y' } },
      { id: 'a' },
    ]);
    expect((await events.acked.take(3)).map(({ id }) => id).toSorted()).toEqual(['a', 'b', 'c']);
    expect(events.delivered.past).toHaveLength(3);
    expect(jobs.calls).toHaveLength(1);
  });

  it('gets arrays even if its batch is 1', async () => {
    const { producer, jobs } = await startBatches(bed, { batch: 1 });
    await producer.publishMany(BATCH_TOPIC, [{ payload: 1 }, { payload: 2 }]);
    const calls = await jobs.called(2);
    expect(new Set(calls.map(({ payloads }) => payloads))).toEqual(new Set([[1], [2]]));
    expect(calls.map(({ messages }) => messages.map(({ payload }) => payload))).toEqual(
      calls.map(({ payloads }) => payloads),
    );
  });

  it.each([
    { batch: 2, partitions: 1 },
    { batch: 10, partitions: 1 },
    { batch: 33, partitions: 4 },
    { batch: 200, partitions: 2 },
  ])('never gets more than $batch at once, nor from two of $partitions partitions', async ({ batch, partitions }) => {
    const ids = names(500);
    await publishDue(bed, ids, partitions);
    const { jobs, events } = await startBatches(bed, { batch, partitions });
    await events.acked.take(500);
    expect(Math.max(...jobs.sizes)).toBe(batch);
    for (const { messages } of jobs.calls) expect(new Set(messages.map(({ partition }) => partition)).size).toBe(1);
    expect(jobs.ids.flat().toSorted()).toEqual(ids.toSorted());
  });

  it('gets a single message as soon as it is due, and does not wait for more', async () => {
    const { producer, jobs, events } = await startBatches(bed, { batch: 100, maxIdleWait: 60_000 });
    for (const id of names(5)) {
      await producer.publish(BATCH_TOPIC, null, { id });
      await events.acked.first((acked) => acked.id === id);
    }
    expect(jobs.ids).toEqual(names(5).map((id) => [id]));
    const lateness = events.delivered.past.map((delivered) => delivered.lateness);
    report(`single messages for a handler of batches of 100: late by at most ${Math.max(...lateness).toFixed(1)} ms`);
  });

  it('has no more concurrent calls than its concurrency, whatever their size', async () => {
    const ids = names(200);
    await publishDue(bed, ids, 4);
    const { jobs, events } = await startBatches(bed, { concurrency: 3, partitions: 4 }, async () => setTimeout(5));
    await events.acked.take(200);
    expect(jobs.mostRunning).toBe(3);
    expect(jobs.ids.flat().toSorted()).toEqual(ids.toSorted());
  });

  it('handles each of 5,000 messages once', async () => {
    const ids = names(5000);
    await publishDue(bed, ids, 4);
    const { jobs, partition } = await startBatches(bed, { batch: 50, partitions: 4 });
    const acked = async () => {
      const counts = await Promise.all(
        [0, 1, 2, 3].map(async (index) => bed.redis.hget(bed.partition(BATCH_TOPIC, index).key('meta'), 'acked')),
      );
      return counts.reduce((sum, count) => sum + Number(count), 0);
    };
    await eventually(async () => expect(await acked()).toBe(5000), 15_000);
    expect(jobs.ids.flat()).toHaveLength(5000);
    expect(new Set(jobs.ids.flat()).size).toBe(5000);
    expect(await bed.redis.exists(partition.key('messages'), partition.key('inflight'))).toBe(0);
    report(`5,000 messages in batches of 50: ${jobs.calls.length} calls`);
  });

  it.each([0, 201, 1.5])('fails the boot if its batch is %d, and is named', async (batch) => {
    const error = await bed.failingBoot({ providers: [batchHandler(BATCH_TOPIC, { batch })] });
    expect(error).toMatchObject({ code: 'CONFIGURATION' });
    expect(error.message).toContain('@DelayedHandler on Jobs.work: batch must be a whole number from 1 to 200');
  });
});

describe('a batch that runs longer than its lease', () => {
  it('keeps every message of it, though another process waits for them', async () => {
    await publishDue(bed, names(20));
    const first = await startBatches(bed, { batch: 20, lease: '1s' }, async () => setTimeout(1700));
    await first.jobs.called();
    const second = await startBatches(bed, { batch: 20, lease: '1s' });
    await first.events.acked.take(20);
    expect(first.jobs.sizes).toEqual([20]);
    expect(first.jobs.calls[0]?.messages.filter(({ signal }) => signal.aborted)).toEqual([]);
    expect(second.jobs.calls).toEqual([]);
  });
});

describe('closing an application while batches run', () => {
  it('gives back every message of batches that do not end in time, and no attempt is spent', async () => {
    await publishDue(bed, names(30));
    const reasons: unknown[] = [];
    const first = await startBatches(bed, { shutdownTimeout: 200 }, async (messages, call) => {
      if (call > 1) reasons.push(...(await Promise.all(messages.map(async ({ signal }) => abortOf(signal)))));
    });
    await first.jobs.called(3);
    await first.events.acked.take(10);
    await first.app.close();
    expect(reasons).toMatchObject(Array.from({ length: 20 }, () => ({ code: 'SHUTDOWN' })));
    expect(first.app.logs.warnings.join()).toMatch(
      /2 handlers still run after 200 ms; their messages are given back: '\w+' of topic /,
    );

    const second = await startBatches(bed);
    const redelivered = await second.events.acked.take(20);
    expect(redelivered.map(({ attempt }) => attempt)).toEqual(Array(20).fill(1));
    expect([...(first.jobs.ids[0] ?? []), ...second.jobs.ids.flat()].toSorted()).toEqual(names(30).toSorted());
  });
});
