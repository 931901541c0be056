import { Injectable } from '@nestjs/common';
import { DelayedHandler, type DelayedMessage, DelayQueueAdmin, InvalidArgumentError } from 'nestjs-delay-queue';
import { describe, expect, it } from 'vitest';
import { type RunningApp, useBed } from '../support/app/bed.js';
import { Gate, eventually } from '../support/waiting.js';

const TOPIC = 'reminders';

/** Those about 'now' run until their signal aborts. */
@Injectable()
class Reminders {
  readonly handled: string[] = [];
  readonly aborted: string[] = [];
  readonly begun = new Gate();

  @DelayedHandler(TOPIC, { attempts: 3 })
  async handle(payload: string, { id, signal }: DelayedMessage): Promise<void> {
    if (payload === 'now') {
      this.begun.open();
      await new Promise((_, reject) => {
        signal.addEventListener('abort', () => {
          this.aborted.push(id);
          reject(signal.reason as Error);
        });
      });
    }
    this.handled.push(id);
  }
}

const bed = useBed();

async function start(): Promise<RunningApp> {
  return bed.start({ providers: [Reminders], options: { topics: { [TOPIC]: { partitions: 3 } } } });
}

async function idsOf(app: RunningApp, tag: string, limit?: number): Promise<string[]> {
  const admin = app.get(DelayQueueAdmin);
  const ids: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await admin.peek(TOPIC, 'scheduled', { tag, cursor, ...(limit === undefined ? {} : { limit }) });
    ids.push(...page.messages.map(({ id }) => id));
    cursor = page.cursor;
  } while (cursor !== undefined);
  return ids;
}

describe('tags', () => {
  it('find messages, whatever their partition, and show them with their tags', async () => {
    const app = await start();
    const messages = Array.from({ length: 120 }, (_, i) => ({
      payload: 'later',
      options: { id: `m-${String(i).padStart(3, '0')}`, delay: '1h', tags: i % 2 === 0 ? ['even', `${i % 3}`] : [] },
    }));
    await app.producer.publishMany(TOPIC, messages);

    const even = messages.filter((_, i) => i % 2 === 0).map(({ options: { id } }) => id);
    for (const limit of [1, 7, 200]) expect(await idsOf(app, 'even', limit)).toEqual(even);
    expect(await idsOf(app, '0')).toEqual(even.filter((_, i) => (2 * i) % 3 === 0));
    expect(await app.get(DelayQueueAdmin).get(TOPIC, 'm-004')).toMatchObject({ tags: ['even', '1'] });
    expect(await app.get(DelayQueueAdmin).get(TOPIC, 'm-005')).toMatchObject({ tags: [] });
  });

  it('cancel what waits and what runs, and nothing else', async () => {
    const app = await start();
    await app.producer.publish(TOPIC, 'now', { id: 'running', tags: ['customer:7'] });
    await app.get(Reminders).begun.opened;
    const later = Array.from({ length: 250 }, (_, i) => ({
      payload: 'later',
      options: { id: `m-${i}`, delay: '1h', tags: [`customer:${i < 200 ? 7 : 8}`] },
    }));
    await app.producer.publishMany(TOPIC, later);

    expect(await app.producer.cancelTagged(TOPIC, 'customer:7')).toEqual({ cancelled: 200, inFlight: 1 });
    await eventually(() => expect(app.get(Reminders).aborted).toEqual(['running']));
    await eventually(async () => {
      expect(await app.get(DelayQueueAdmin).stats(TOPIC)).toMatchObject({
        scheduled: 50,
        inFlight: 0,
        counters: { cancelled: 201 },
      });
    });
    expect(await app.producer.cancelTagged(TOPIC, 'customer:7')).toEqual({ cancelled: 0, inFlight: 0 });
    expect(await idsOf(app, 'customer:8')).toHaveLength(50);
  });

  it('are left with nothing in Redis once their messages are gone', async () => {
    const app = await start();
    await app.producer.publishMany(
      TOPIC,
      Array.from({ length: 50 }, () => ({ payload: 'done', options: { tags: ['a', 'b'] } })),
    );
    await eventually(() => expect(app.get(Reminders).handled).toHaveLength(50));

    await eventually(async () => {
      expect((await bed.keys()).filter((key) => /:(tags|tagged)$/.test(key))).toEqual([]);
    });
  });

  it('are checked before anything is sent', async () => {
    const app = await start();

    await expect(app.producer.cancelTagged(TOPIC, '')).rejects.toThrow(InvalidArgumentError);
    await expect(app.producer.publish(TOPIC, 1, { tags: [''] })).rejects.toThrow('tags[0] must be');
    const finished = app.get(DelayQueueAdmin).peek(TOPIC, 'finished', { tag: 'x' });
    await expect(finished).rejects.toThrow('Finished messages are not found by their tags');
    expect(await app.producer.cancelTagged('never.used', 'x')).toEqual({ cancelled: 0, inFlight: 0 });
  });
});
