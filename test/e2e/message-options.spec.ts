import { Injectable } from '@nestjs/common';
import { type DelayedMessage, DelayedHandler, type PublishOptions } from 'nestjs-delay-queue';
import { describe, expect, it } from 'vitest';
import { useBed } from '../support/app/bed.js';
import { Recorder } from '../support/app/recorder.js';
import { abortOf, eventually } from '../support/waiting.js';

const HOUR = 3_600_000;

/** A handler with options on a topic with options, one without on a topic with options, and one without any. */
@Injectable()
class Jobs extends Recorder {
  @DelayedHandler('by-handler', { attempts: 7, backoff: { type: 'fixed', delay: '7m' }, timeout: 57 })
  async byHandler(payload: unknown, message: DelayedMessage) {
    return this.take(payload, message);
  }

  @DelayedHandler('by-topic')
  async byTopic(payload: unknown, message: DelayedMessage) {
    return this.take(payload, message);
  }

  @DelayedHandler('by-default')
  async byDefault(payload: unknown, message: DelayedMessage) {
    return this.take(payload, message);
  }
}

const bed = useBed();

async function start() {
  const ofTopic = { attempts: 6, backoff: { type: 'fixed', delay: '6m' }, timeout: 56, expireAfter: '2h' } as const;
  const app = await bed.start({
    providers: [Jobs],
    options: {
      topics: { 'by-handler': ofTopic, 'by-topic': ofTopic },
      defaults: {
        partitions: 1,
        attempts: 5,
        backoff: { type: 'fixed', delay: '5m' },
        timeout: 55,
        expireAfter: '4h',
      },
    },
  });
  return { producer: app.producer, events: app.events, jobs: app.get(Jobs) };
}

describe('attempts, backoff and timeout', () => {
  const own: PublishOptions = { attempts: 8, backoff: { type: 'exponential', delay: '8m' }, timeout: '58ms' };

  it.each<{ of: string; topic: string; options?: PublishOptions; n: number }>([
    { of: 'the defaults', topic: 'by-default', n: 5 },
    { of: 'the topic, before the defaults', topic: 'by-topic', n: 6 },
    { of: 'the handler, before the topic', topic: 'by-handler', n: 7 },
    { of: 'the message, before the handler', topic: 'by-handler', options: own, n: 8 },
    { of: 'the message, before the topic', topic: 'by-topic', options: own, n: 8 },
    { of: 'the message, before the defaults', topic: 'by-default', options: own, n: 8 },
  ])('are those of $of', async ({ topic, options = {}, n }) => {
    const { producer, events, jobs } = await start();
    jobs.respond = async (_payload, { signal }) => abortOf(signal);
    await producer.publish(topic, null, options);
    const { delay, error } = await events.retried.first();
    expect(jobs.calls[0]?.message.maxAttempts).toBe(n);
    expect(delay).toBe(n * 60_000);
    expect(error).toMatchObject({ timeout: 50 + n });
    await eventually(() => expect(jobs.running).toBe(0));
  });

  it('wait in steps if the message says so, whose last one repeats', async () => {
    const { producer, events, jobs } = await start();
    jobs.respond = () => {
      throw new Error('down');
    };
    await producer.publish('by-handler', null, { attempts: 5, backoff: { type: 'steps', delays: [3, 1, '2ms'] } });
    await events.dead.first();
    expect(events.retried.past.map(({ delay }) => delay)).toEqual([3, 1, 2, 2]);
  });

  it('come from the handler unless the message has its own', async () => {
    const { producer, events, jobs } = await start();
    jobs.respond = async (_payload, { signal }) => abortOf(signal);
    await producer.publish('by-handler', null, { attempts: 3 });
    const { delay, error } = await events.retried.first();
    expect(jobs.calls[0]?.message.maxAttempts).toBe(3);
    expect(delay).toBe(7 * 60_000);
    expect(error).toMatchObject({ timeout: 57 });
  });

  it('of a message end it after that number of attempts', async () => {
    const { producer, events, jobs } = await start();
    jobs.respond = () => {
      throw new Error('down');
    };
    await producer.publish('by-handler', null, { attempts: 2, backoff: { type: 'fixed', delay: 5 } });
    expect(await events.dead.first()).toMatchObject({ attempt: 2 });
    expect(jobs.calls).toHaveLength(2);
  });
});

describe('expireAfter', () => {
  it.each<{ of: string; topic: string; options?: PublishOptions; late: number; expires: boolean }>([
    { of: 'the defaults', topic: 'by-default', late: 5 * HOUR, expires: true },
    { of: 'the defaults', topic: 'by-default', late: 3 * HOUR, expires: false },
    { of: 'the topic', topic: 'by-topic', late: 3 * HOUR, expires: true },
    { of: 'the topic', topic: 'by-topic', late: HOUR, expires: false },
    { of: 'the topic of a handler with options', topic: 'by-handler', late: 3 * HOUR, expires: true },
    { of: 'the message', topic: 'by-topic', options: { expireAfter: '30m' }, late: HOUR, expires: true },
    { of: 'the message', topic: 'by-topic', options: { expireAfter: '6h' }, late: 5 * HOUR, expires: false },
  ])('is that of $of: $late ms late, expires: $expires', async ({ topic, options, late, expires }) => {
    const { events, jobs } = await start();
    await bed.publishLate(topic, null, late, { id: 'a', ...options });
    await eventually(() => expect(events.dead.past.length + events.acked.past.length).toBe(1));
    expect(events.dead.past.map(({ failure }) => failure.reason)).toEqual(expires ? ['expired'] : []);
    expect(jobs.calls).toHaveLength(expires ? 0 : 1);
  });

  it('is of no meaning for a message that was delivered before', async () => {
    const { producer, events, jobs } = await start();
    jobs.respond = (_payload, { attempt }) => {
      if (attempt < 4) throw new Error('down');
    };
    await producer.publish('by-default', null, { expireAfter: 200, backoff: { type: 'fixed', delay: 250 } });
    expect(await events.acked.first()).toMatchObject({ attempt: 4 });
  });
});

describe('headers', () => {
  it('travel with the message, through retries too', async () => {
    const { producer, events, jobs } = await start();
    jobs.respond = (_payload, { attempt }) => {
      if (attempt === 1) throw new Error('down');
    };
    const headers = { trace: 'abc', '': 'empty name', ü: '✓' };
    await producer.publish('by-default', null, { headers, backoff: { type: 'fixed', delay: 5 } });
    await events.acked.first();
    expect(jobs.calls.map(({ message }) => message.headers)).toEqual([headers, headers]);
  });

  it('are empty if there are none', async () => {
    const { producer, jobs } = await start();
    await producer.publish('by-default', null);
    const [call] = await jobs.called();
    expect(call?.message.headers).toEqual({});
  });
});

describe('the payload', () => {
  it.each([
    { what: 'null', payload: null },
    { what: 'false', payload: false },
    { what: '0', payload: 0 },
    { what: 'an empty string', payload: '' },
    { what: 'text outside the basic plane', payload: '💶 ü \u0000 \u2028' },
    { what: 'an array', payload: [1, [2, null]] },
    { what: 'a nested object', payload: { a: { b: [{ c: 'd' }] } } },
    { what: 'a large number', payload: Number.MAX_SAFE_INTEGER },
  ])('arrives as it was published: $what', async ({ payload }) => {
    const { producer, jobs } = await start();
    await producer.publish('by-default', payload);
    const [call] = await jobs.called();
    expect(call?.payload).toEqual(payload);
    expect(call?.message.payload).toEqual(payload);
  });

  it('arrives complete even at the largest allowed size', async () => {
    const { producer, jobs } = await start();
    const payload = 'x'.repeat(1024 * 1024 - 2);
    await producer.publish('by-default', payload);
    const [call] = await jobs.called();
    expect(call?.payload).toBe(payload);
  });
});
