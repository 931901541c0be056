import { Injectable } from '@nestjs/common';
import { DelayedHandler, type DelayedMessage, DelayQueueAdmin } from 'nestjs-delay-queue';
import { expect, it } from 'vitest';
import { onOwnRedis } from '../support/app/bed.js';
import { LONGEST_BLOCK, longestCall } from '../support/readings/longest-call.js';
import { report } from '../support/readings/statistics.js';
import { eventually } from '../support/waiting.js';

const TOPIC = 'reminders';
const MESSAGES = 100_000;
const TAGGED = 10_000;
const BATCH = 1000;

/** What is handled while others are cancelled. */
@Injectable()
class Reminders {
  readonly handled = new Set<string>();

  @DelayedHandler(TOPIC)
  handle(_payload: unknown, { id }: DelayedMessage): void {
    this.handled.add(id);
  }
}

interface Load {
  readonly payload: number;
  readonly options: { id: string; delay: string; tags: string[] };
}

/** Every tenth one is tagged. */
function loadOf(round: number): Load[] {
  return Array.from({ length: MESSAGES }, (_, i) => ({
    payload: i,
    options: { id: `m-${i}`, delay: '1h', tags: i % (MESSAGES / TAGGED) === 0 ? [`order:${round}`] : ['other'] },
  }));
}

it(
  'cancelTagged() cancels exactly its messages among 100,000 while others are published and handled',
  { timeout: 300_000 },
  async () => {
    await onOwnRedis(async (own) => {
      const app = await own.start({ providers: [Reminders] });
      const admin = app.get(DelayQueueAdmin);
      const { handled } = app.get(Reminders);
      let round = 0;
      let published = 0;

      const prepare = async (): Promise<void> => {
        round++;
        if (round > 1) await admin.drain(TOPIC);
        const load = loadOf(round);
        for (let i = 0; i < load.length; i += BATCH) await app.producer.publishMany(TOPIC, load.slice(i, i + BATCH));
      };
      const cancel = async (): Promise<void> => {
        const over = new AbortController();
        const meanwhile = (async () => {
          while (!over.signal.aborted) {
            const ids = Array.from({ length: 50 }, () => `now-${published++}`);
            await app.producer.publishMany(
              TOPIC,
              ids.map((id) => ({ payload: 0, options: { id, tags: ['other'] } })),
            );
          }
        })();
        const begin = performance.now();
        expect(await app.producer.cancelTagged(TOPIC, `order:${round}`)).toEqual({ cancelled: TAGGED, inFlight: 0 });
        report(
          `${TAGGED} of ${MESSAGES} cancelled by tag in ${(performance.now() - begin).toFixed(0)} ms, ${published} others published`,
        );
        over.abort();
        await meanwhile;
      };
      const longest = await longestCall(own.redis, 'cancelTagged among 100,000', cancel, prepare);

      expect(longest).toBeLessThanOrEqual(LONGEST_BLOCK);
      await eventually(() => expect(handled.size).toBe(published), 30_000);
      expect(published).toBeGreaterThan(0);
      expect(await admin.stats(TOPIC)).toMatchObject({ scheduled: MESSAGES - TAGGED, inFlight: 0, dead: 0 });
      expect((await admin.peek(TOPIC, 'scheduled', { tag: `order:${round}` })).messages).toEqual([]);
      for (const i of [1, 9, 11, 99_999]) expect(await admin.get(TOPIC, `m-${i}`)).toMatchObject({ tags: ['other'] });
      expect(await admin.get(TOPIC, 'm-10')).toBeUndefined();
      await app.close();
    });
  },
);
