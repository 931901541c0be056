import { Injectable } from '@nestjs/common';
import {
  ConfigurationError,
  createDelayQueueAdmin,
  type DeadLetter,
  DelayedHandler,
  type DelayedMessage,
  DelayQueueAdmin,
  type DelayQueueModuleOptions,
  InvalidPayloadError,
  OnDeadLetter,
  type PayloadSerializer,
  SerializationError,
  topic,
} from 'nestjs-delay-queue';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { TypedJson } from '../support/typed-json.js';
import { useBed } from '../support/app/bed.js';
import { Recorder } from '../support/app/recorder.js';
import { eventually } from '../support/waiting.js';

const bed = useBed();

const serializer = new TypedJson();

/** Values that JSON alone would change or could not hold. */
const ORDER = {
  orderId: '42',
  placedAt: new Date('2026-01-01T00:00:00Z'),
  amounts: new Map<string, unknown>([['EUR', 10n]]),
  list: [1, undefined],
};

const dated = topic('jobs', { schema: z.object({ at: z.date() }) });

@Injectable()
class Jobs extends Recorder {
  readonly letters: DeadLetter[] = [];

  @DelayedHandler(['jobs', 'notes'], { attempts: 1 })
  async handle(payload: unknown, message: DelayedMessage) {
    return this.take(payload, message);
  }

  @OnDeadLetter('jobs')
  onDeadLetter(letter: DeadLetter): void {
    this.letters.push(letter);
  }
}

@Injectable()
class DatedJobs extends Recorder {
  @DelayedHandler(dated)
  async handle(payload: unknown, message: DelayedMessage) {
    return this.take(payload, message);
  }
}

async function start(options: DelayQueueModuleOptions = { serializer }) {
  const app = await bed.start({ providers: [Jobs], options: { ...options, defaults: { partitions: 1 } } });
  return { app, producer: app.producer, jobs: app.get(Jobs), admin: app.get(DelayQueueAdmin) };
}

async function startProducer(options: DelayQueueModuleOptions) {
  const app = await bed.start({ options: { defaults: { partitions: 1 }, ...options, consumer: false } });
  return { app, producer: app.producer, admin: app.get(DelayQueueAdmin) };
}

function failing(part: Partial<PayloadSerializer>): PayloadSerializer {
  return { serialize: (value) => value, deserialize: (json) => json, ...part };
}

async function refusalOf(publishing: Promise<unknown>): Promise<Error> {
  const error: unknown = await publishing.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(SerializationError);
  return error as Error;
}

describe('a serializer', () => {
  it('gives handlers what was published, stored as JSON that says so', async () => {
    const { producer, jobs, admin } = await start();
    await producer.publish('jobs', ORDER, { id: 'a', delay: '1h', headers: { trace: 't' } });
    await producer.publishMany('jobs', [{ payload: ORDER, options: { id: 'b' } }, { payload: undefined }]);

    const [, ...stored] = JSON.parse((await bed.partition('jobs').envelope('a')) ?? '') as unknown[];
    expect(stored).toEqual([serializer.serialize(ORDER), { h: { trace: 't' }, s: 1 }]);
    await admin.runNow('jobs', 'a');
    await jobs.called(3);
    expect(jobs.callsOf('a')).toMatchObject([{ payload: ORDER, message: { payload: ORDER, headers: { trace: 't' } } }]);
    expect(jobs.callsOf('b')[0]?.payload).toEqual(ORDER);
    expect(jobs.calls.filter(({ payload }) => payload === undefined)).toHaveLength(1);
  });

  it("of a topic wins over the module's", async () => {
    const upper: PayloadSerializer = {
      serialize: (value) => String(value).toUpperCase(),
      deserialize: (json) => `${String(json)}!`,
    };
    const { producer, jobs } = await start({ serializer, topics: { notes: { serializer: upper } } });
    await producer.publish('notes', 'hello', { id: 'note' });
    await producer.publish('jobs', ORDER, { id: 'job' });
    await jobs.called(2);
    expect(jobs.callsOf('note')[0]?.payload).toBe('HELLO!');
    expect(jobs.callsOf('job')[0]?.payload).toEqual(ORDER);
  });

  it('may be a class with static functions', async () => {
    const Static = Object.assign(class extends TypedJson {}, {
      serialize: (value: unknown) => serializer.serialize(value),
      deserialize: (json: unknown) => serializer.deserialize(json as never),
    });
    const { producer, jobs } = await start({ serializer: Static });
    await producer.publish('jobs', ORDER);
    expect((await jobs.called())[0]?.payload).toEqual(ORDER);
  });

  it('does not change messages that were published without it', async () => {
    const plain = await startProducer({});
    await plain.producer.publish('jobs', { json: 'my own' }, { id: 'old' });
    const { jobs } = await start();
    expect((await jobs.called())[0]?.payload).toEqual({ json: 'my own' });
  });

  it('that a process lacks has its messages put off, unchanged, until one has it', async () => {
    const publisher = await startProducer({ serializer });
    const without = await start({});
    await publisher.producer.publish('jobs', ORDER, { id: 'a', attempts: 1 });
    const text =
      "Messages of topic 'jobs' are put off. The payload was published with a serializer, and this process has none for topic 'jobs'. " +
      "Give it the same option 'serializer' as the process that publishes.";
    await eventually(() => expect(without.app.logs.errors).toContain(text));
    expect(without.jobs.letters).toEqual([]);
    expect(without.jobs.calls).toEqual([]);
    await without.app.close();

    const { jobs } = await start();
    expect((await jobs.called())[0]?.payload).toEqual(ORDER);
  });

  it('that throws at a publish makes it fail with the name of the topic and the cause', async () => {
    const cause = new TypeError('no such type');
    const { producer } = await startProducer({
      serializer: failing({
        serialize: () => {
          throw cause;
        },
      }),
    });
    for (const publishing of [producer.publish('jobs', 1), producer.publishMany('jobs', [{ payload: 1 }])]) {
      const error = await refusalOf(publishing);
      expect(error.message).toBe("The serializer of topic 'jobs' failed on the payload: no such type");
      expect(error.cause).toBe(cause);
    }
    expect(await bed.keys()).toEqual([]);
  });

  it('that returns anything but plain data makes the publish fail, with the path', async () => {
    const { producer } = await startProducer({ serializer: failing({ serialize: async (value) => value }) });
    expect((await refusalOf(producer.publish('jobs', 1))).message).toBe(
      'serialize(payload) is a promise. Await it first.',
    );
    expect(await bed.keys()).toEqual([]);
  });

  it('that throws at a delivery makes the message a dead letter, kept unchanged', async () => {
    const { producer, jobs, admin } = await start({
      serializer: failing({
        deserialize: () => {
          throw new RangeError('version 2');
        },
      }),
    });
    await producer.publish('jobs', { n: 1 }, { id: 'a' });
    await eventually(() => expect(jobs.letters).toHaveLength(1));
    expect(jobs.letters[0]).toMatchObject({ payload: undefined, attempts: 0, failure: { reason: 'undecodable' } });
    expect(jobs.letters[0]?.failure.message).toBe(
      "The serializer of topic 'jobs' failed on the stored payload: version 2",
    );
    expect(JSON.parse(jobs.letters[0]?.raw ?? '')).toMatchObject([expect.any(Number), { n: 1 }, { s: 1 }]);
    expect(await admin.get('jobs', 'a')).toMatchObject({ state: 'dead', payload: undefined });
    expect(jobs.calls).toEqual([]);
  });

  it('is used wherever a payload is shown or replaced', async () => {
    const { producer, jobs, admin } = await start();
    jobs.respond = () => {
      throw new Error('never');
    };
    await producer.publish('jobs', ORDER, { id: 'a', delay: '1h' });
    expect((await admin.get('jobs', 'a'))?.payload).toEqual(ORDER);
    expect((await admin.peek('jobs', 'scheduled')).messages[0]?.payload).toEqual(ORDER);

    const edited = { at: new Date(1) };
    expect(await admin.edit('jobs', 'a', edited)).toBe('edited');
    expect((await admin.get('jobs', 'a'))?.payload).toEqual(edited);
    await admin.runNow('jobs', 'a');
    await eventually(() => expect(jobs.letters).toMatchObject([{ id: 'a', payload: edited }]));

    await admin.requeue('jobs', 'a', { payload: ORDER });
    await eventually(() => expect(jobs.letters).toMatchObject([{ payload: edited }, { id: 'a', payload: ORDER }]));
    expect(jobs.calls.map(({ payload }) => payload)).toEqual([edited, ORDER]);
  });

  it('marks a message that was published without one when its payload is replaced', async () => {
    const plain = await startProducer({});
    await plain.producer.publish('jobs', 1, { id: 'a', delay: '1h' });
    const { admin } = await startProducer({ serializer });
    await admin.edit('jobs', 'a', ORDER);
    expect((await admin.get('jobs', 'a'))?.payload).toEqual(ORDER);
    expect((await plain.admin.get('jobs', 'a'))?.payload).toBeUndefined();
  });

  it('is needed by an admin without Nest, which says so', async () => {
    const { producer, jobs } = await start();
    jobs.respond = () => {
      throw new Error('never');
    };
    await producer.publish('jobs', ORDER, { id: 'waits', delay: '1h' });
    await producer.publish('jobs', ORDER, { id: 'dead' });
    await eventually(() => expect(jobs.letters).toHaveLength(1));
    const log = { log: () => {}, warn: () => {}, error: () => {} };
    const place = { redis: bed.connection, prefix: bed.prefix, log };
    const without = await createDelayQueueAdmin(place);
    const admins = [
      await createDelayQueueAdmin({ ...place, serializer }),
      await createDelayQueueAdmin({ ...place, topics: { jobs: { serializer } } }),
    ];
    try {
      expect(await without.get('jobs', 'waits')).toMatchObject({
        payload: undefined,
        raw: expect.any(String) as string,
      });
      const refusal =
        "The payload was published with a serializer. To replace it, give the admin the same option 'serializer'.";
      await expect(without.edit('jobs', 'waits', 1)).rejects.toThrow(refusal);
      await expect(without.requeue('jobs', 'dead', { payload: 1 })).rejects.toThrow(refusal);
      for (const [i, admin] of admins.entries()) {
        expect((await admin.get('jobs', 'dead'))?.payload).toEqual(ORDER);
        expect(await admin.edit('jobs', 'waits', new Date(i))).toBe('edited');
        expect((await admin.get('jobs', 'waits'))?.payload).toEqual(new Date(i));
      }
    } finally {
      await Promise.all([without, ...admins].map(async (admin) => admin.close()));
    }
  });

  it('runs before the schema, at the publish and at the delivery', async () => {
    const app = await bed.start({ providers: [DatedJobs], options: { serializer, defaults: { partitions: 1 } } });
    const at = new Date(5);
    await expect(app.producer.publish(dated, { at: 'soon' as unknown as Date })).rejects.toThrow(InvalidPayloadError);
    await app.producer.publish(dated, { at });
    expect((await app.get(DatedJobs).called())[0]?.payload).toEqual({ at });
  });

  it('that cannot read its own output is detected at the publish, if there is a schema', async () => {
    const { producer } = await startProducer({
      serializer: failing({
        deserialize: () => {
          throw new RangeError('version 2');
        },
      }),
    });
    const error = await refusalOf(producer.publish(dated, { at: new Date(5) }));
    expect(error.message).toBe("The serializer of topic 'jobs' failed on the stored payload: version 2");
  });

  it.each<[string, DelayQueueModuleOptions]>([
    ['serializer must have the functions', { serializer: { serialize: (value: unknown) => value } as never }],
    ['serializer must have the functions', { serializer: JSON as never }],
    ["topics['jobs'].serializer must", { topics: { jobs: { serializer: 'superjson' as never } } }],
    ['defaults.serializer must', { defaults: { serializer: null as never } }],
  ])('that is not valid fails the boot: %s', async (says, options) => {
    const error = await bed.failingBoot({ options });
    expect(error).toBeInstanceOf(ConfigurationError);
    expect(error.message).toContain(says);
    expect(error.message).toContain('serialize(value) and deserialize(json), as superjson has. Given: ');
  });
});
