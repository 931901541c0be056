import { setTimeout as sleep } from 'node:timers/promises';
import type { PublishedMessage } from 'nestjs-delay-queue';
import { expect, it } from 'vitest';
import { useBed } from '../support/app/bed.js';
import { Jobs } from '../support/app/jobs.js';

const MAX_WAIT = 200;

/** What a publish was answered, and the time of Redis before and after it. */
interface Publish extends PublishedMessage {
  readonly before: number;
  readonly after: number;
}

const bed = useBed();

it('a message that is replaced all the time comes again and again within its longest wait, as it was published last', async () => {
  const { app, producer } = await startJobs();
  const jobs = app.get(Jobs);
  const published: Publish[] = [];
  /** All that one delivery stands for have its due time. */
  const byDueTime = new Map<number, Publish[]>();
  while (jobs.calls.length < 3) {
    const before = await bed.time();
    // Only the longest wait can make it due while the test runs.
    const options = { id: 'a', delay: '1h', onDuplicate: 'replace', maxWait: MAX_WAIT } as const;
    const result = await producer.publish('jobs', published.length, options);
    const publish = { ...result, before, after: await bed.time() };
    published.push(publish);
    byDueTime.set(publish.dueAt.getTime(), [...(byDueTime.get(publish.dueAt.getTime()) ?? []), publish]);
    await sleep(10);
  }

  for (const { payload, message } of jobs.calls.slice(0, 3)) {
    const group = byDueTime.get(message.dueAt.getTime());
    const [begin, end] = [group?.at(0), group?.at(-1)];
    if (!begin || !end) throw new Error(`No publish said ${message.dueAt.toISOString()}.`);
    expect(payload).toBe(published.indexOf(end));
    expect(begin.dueAt.getTime()).toBeGreaterThanOrEqual(begin.before + MAX_WAIT);
    expect(begin.dueAt.getTime()).toBeLessThanOrEqual(Math.ceil(begin.after) + MAX_WAIT);
  }
});

async function startJobs() {
  const app = await bed.start({ providers: [Jobs], options: { defaults: { partitions: 1 } } });
  return { app, producer: app.producer };
}
