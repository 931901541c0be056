import { setTimeout as sleep } from 'node:timers/promises';
import { DelayQueueAdmin, InvalidArgumentError } from 'nestjs-delay-queue';
import { describe, expect, it } from 'vitest';
import { useBed } from '../support/app/bed.js';
import { startReceiving } from '../support/app/receiving.js';

const bed = useBed();
const TOPICS = ['urgent', 'normal', 'bulk'];

describe('receive() from several topics', () => {
  it('takes what is due in an earlier one first, and fills up with what is due in the later ones', async () => {
    const { app, receiver } = await startReceiving(bed);
    for (const topic of TOPICS.toReversed()) {
      await app.producer.publishMany(
        topic,
        Array.from({ length: 3 }, (_, i) => ({ payload: i })),
      );
    }
    const topicsOf = async (max: number): Promise<string[]> =>
      (await receiver.receive(TOPICS, { max, wait: '1s' })).map(({ topic }) => topic);
    expect(await topicsOf(2)).toEqual(['urgent', 'urgent']);
    expect(await topicsOf(3)).toEqual(['urgent', 'normal', 'normal']);
    expect(await topicsOf(9)).toEqual(['normal', 'bulk', 'bulk', 'bulk']);
    expect(await receiver.receive(TOPICS, { wait: 0 })).toEqual([]);
  });

  it('waits for all at once, and one receiver gets one message whatever falls due meanwhile', async () => {
    const { app, receiver } = await startReceiving(bed);
    const ids: string[] = [];
    const stop = new AbortController();
    const receive = async (): Promise<void> => {
      while (!stop.signal.aborted) {
        const messages = await receiver.receive(TOPICS, { wait: '5s', signal: stop.signal });
        expect(messages.length).toBeLessThanOrEqual(1);
        for (const message of messages) {
          ids.push(message.id);
          expect(message.attempt).toBe(1);
          expect(await message.ack()).toBe('settled');
        }
      }
    };
    const receivers = Array.from({ length: 5 }, receive);
    await sleep(100);
    const deliverAt = Date.now() + 300;
    const published = await Promise.all(
      Array.from({ length: 60 }, async (_, i) => app.producer.publish(TOPICS[i % 3] as string, i, { deliverAt })),
    );
    await expect.poll(() => ids.length).toBe(60);
    stop.abort();
    await Promise.all(receivers);
    expect(new Set(ids)).toEqual(new Set(published.map(({ id }) => id)));
    for (const topic of TOPICS)
      expect(await app.get(DelayQueueAdmin).stats(topic)).toMatchObject({ inFlight: 0, scheduled: 0 });
  });

  it('loses nothing of a topic that is delivered at most once, and gives nobody more than they want', async () => {
    const once = { delivery: 'at-most-once' } as const;
    const { app, receiver } = await startReceiving(bed, { urgent: once, normal: once });
    const waiting = receiver.receive(['urgent', 'normal'], { wait: '5s' });
    await sleep(100);
    await Promise.all(['urgent', 'normal'].map(async (topic) => app.producer.publish(topic, topic)));
    const first = await waiting;
    expect(first).toHaveLength(1);
    const second = await receiver.receive(['urgent', 'normal'], { wait: '2s' });
    expect([...first, ...second].map(({ topic }) => topic).toSorted()).toEqual(['normal', 'urgent']);
  });

  it('ends with its signal and with its time, and wants each topic once', async () => {
    const { receiver } = await startReceiving(bed);
    const begun = performance.now();
    expect(await receiver.receive(TOPICS, { wait: 300 })).toEqual([]);
    expect(performance.now() - begun).toBeGreaterThanOrEqual(290);
    expect(await receiver.receive(TOPICS, { signal: AbortSignal.timeout(100) })).toEqual([]);
    expect(await receiver.receive(TOPICS, { signal: AbortSignal.abort() })).toEqual([]);
    await expect(receiver.receive([])).rejects.toThrow(InvalidArgumentError);
    await expect(receiver.receive(['a', 'a'])).rejects.toThrow('each of them once. Given');
  });
});
