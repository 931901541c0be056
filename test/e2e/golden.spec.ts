import { readFileSync, readdirSync } from 'node:fs';
import { Injectable } from '@nestjs/common';
import {
  DelayQueueAdmin,
  DelayQueueReceiver,
  DelayQueueSchedules,
  DelayedHandler,
  type DelayedMessage,
  DuplicateMessageError,
  type TopicOptions,
} from 'nestjs-delay-queue';
import { describe, expect, it } from 'vitest';
import { useBed } from '../support/app/bed.js';
import { Recorder } from '../support/app/recorder.js';
import { eventually } from '../support/waiting.js';

const FOLDER = new URL('../golden/', import.meta.url);

// In a variable, since a script without types is imported.
const TOPICS_FILE = '../golden/topics.mjs';
const { TOPICS } = (await import(TOPICS_FILE)) as { TOPICS: Record<string, TopicOptions> };

/** What `test/golden/record.mjs` has recorded. */
interface GoldenRecord {
  readonly messages: readonly { readonly topic: string; readonly id: string; readonly key: string }[];
  readonly schedules: readonly { readonly id: string }[];
  readonly keys: Readonly<Record<string, StoredValue>>;
}

interface StoredValue {
  readonly hash?: readonly [field: string, value: string][];
  readonly zset?: readonly [member: string, score: string][];
  readonly stream?: readonly [id: string, fields: string[]][];
  readonly string?: string;
  /** Milliseconds. */
  readonly ttl?: number;
}

/** Messages, and what schedules have of them; what is left of a topic or of the fleet belongs to no message. */
const OF_MESSAGES =
  /:(scheduled|inflight|messages|deliveries|dead|errors|keyed|blocked|queues|running|resting|tags|tagged|schedules|occurrences)$/;

/** The topics that handlers have; of the others, `received` is received. */
const HANDLED = Object.keys(TOPICS).filter((topic) => topic !== 'received');

@Injectable()
class Handlers extends Recorder {
  @DelayedHandler(HANDLED)
  async handle(payload: unknown, message: DelayedMessage) {
    return this.take(payload, message);
  }

  /** Ids, in the order of the calls. */
  of(topic: string): string[] {
    const calls = this.calls.filter(({ message }) => message.topic === topic);
    return calls.map(({ message }) => message.id);
  }
}

describe.each(readdirSync(FOLDER).filter((file) => file.endsWith('.json')))('what %s has of a Redis', (file) => {
  const bed = useBed();
  const record = JSON.parse(readFileSync(new URL(file, FOLDER), 'utf8')) as GoldenRecord;

  async function load(): Promise<void> {
    for (const [recorded, { hash, zset, stream, string, ttl }] of Object.entries(record.keys)) {
      const key = recorded.replace('{golden', `{${bed.prefix}`);
      if (hash) await bed.redis.hset(key, ...hash.flat());
      if (zset) await bed.redis.zadd(key, ...zset.flatMap(([member, score]) => [score, member]));
      for (const [id, fields] of stream ?? []) await bed.redis.xadd(key, id, ...fields);
      if (string !== undefined) await bed.redis.set(key, string);
      if (ttl !== undefined) await bed.redis.pexpire(key, ttl);
    }
  }

  it('is read as it was', async () => {
    await load();
    const app = await bed.start({ options: { topics: TOPICS, consumer: false } });
    const admin = app.get(DelayQueueAdmin);
    for (const message of record.messages) {
      expect(asJson(await admin.get(message.topic, message))).toEqual(message);
    }
    // The next time follows from the clock.
    const schedules = await app.get(DelayQueueSchedules).list();
    expect(asJson(schedules.map((schedule) => ({ ...schedule, next: undefined })))).toEqual(
      asJson(record.schedules.map((schedule) => ({ ...schedule, next: undefined }))),
    );
    const { entries } = await admin.audit();
    expect(entries.map(({ action }) => action).toSorted()).toEqual(['hold', 'pause', 'pauseSchedule']);
  });

  it('is drained', async () => {
    await load();
    const app = await bed.start({
      options: { topics: TOPICS, consumer: { lease: '3s' } },
      providers: [Handlers],
    });
    const [handlers, admin, schedules] = [app.get(Handlers), app.get(DelayQueueAdmin), app.get(DelayQueueSchedules)];

    await eventually(() => {
      expect(handlers.of('waiting').toSorted()).toEqual([
        'long',
        'of-a-key',
        'replaced',
        'soon',
        'tagged',
        'with-options',
      ]);
      expect(handlers.of('plain').toSorted()).toEqual(['replaced-running', 'retrying', 'running']);
      expect(handlers.of('ordered')).toEqual(['head', 'second', 'third']);
      expect(handlers.of('limited-keys').toSorted()).toEqual(['next-of-a-key', 'one-of-a-key']);
      expect(handlers.of('rated-keys').toSorted()).toEqual(['begun', 'over-the-rate']);
      expect(handlers.of('limited').toSorted()).toEqual(['not-permitted', 'permitted']);
      expect(handlers.of('held')).toEqual(['while-held']);
      expect(handlers.of('recurring').length).toBeGreaterThan(2);
    });
    expect(handlers.of('kept').concat(handlers.of('once'), handlers.of('paused'), handlers.of('blocking'))).toEqual([]);
    expect(await admin.get('plain', 'cancelled-running')).toBeUndefined();
    for (const id of ['replaced', 'replaced-running'])
      expect(handlers.callsOf(id)[0]?.payload).toMatchObject({ time: 2 });
    expect(handlers.callsOf('retrying')[0]?.message).toMatchObject({ attempt: 3, maxAttempts: 3 });
    await expect(app.producer.publish('kept', {}, { id: 'acked' })).rejects.toBeInstanceOf(DuplicateMessageError);

    await admin.resume('paused');
    await admin.runNow('waiting', 'never');
    await admin.runNow('ordered', { id: 'not-due', key: 'b' });
    await admin.requeue('plain', { all: true });
    await admin.requeue('blocking', { all: true });
    for (const { id } of record.schedules) await schedules.remove(id);
    const [received] = await app.get(DelayQueueReceiver).receive('received', { wait: '30s' });
    expect(received).toMatchObject({ id: 'received' });
    await received?.ack();
    await eventually(() => {
      expect(handlers.of('paused')).toEqual(['while-paused']);
      expect(handlers.of('waiting')).toContain('never');
      expect(handlers.of('ordered')).toContain('not-due');
      expect(handlers.of('plain')).toEqual(expect.arrayContaining(['declared-dead', 'spent']));
      expect(handlers.of('blocking')).toEqual(['behind-the-dead', 'dead-head']);
    });
    await eventually(async () => {
      expect((await bed.keys()).filter((key) => OF_MESSAGES.test(key))).toEqual([]);
    });
  });
});

function asJson(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value)) as unknown;
}
