import { Injectable, type Provider } from '@nestjs/common';
import {
  DelayQueueAdmin,
  DelayQueueModule,
  DelayQueueProducer,
  DelayedHandler,
  HandlerOverrunError,
  RetryLaterError,
  UnrecoverableError,
  topic,
} from 'nestjs-delay-queue';
import { DelayQueueHarness } from 'nestjs-delay-queue/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { useBed } from '../support/app/bed.js';
import { Jobs } from '../support/app/jobs.js';
import type { LogBook } from '../support/app/log-book.js';
import { START, boot, start as startKit, useKitBed } from '../support/kit/kit-bed.js';
import { PROTOCOL_VERSION } from '../../lib/store/fleet/topic-config.js';
import { Gate, eventually } from '../support/waiting.js';

/** What the library has logged at a level, without the lines of the boot. */
function linesOf({ lines }: LogBook, level: 'log' | 'warn' | 'error' | 'debug'): string[] {
  const begin = `${level} DelayQueue: `;
  return lines.filter((line) => line.startsWith(begin)).map((line) => line.slice(begin.length));
}

/** The lines about this library, without the warnings about the test's server. */
function quietLinesOf({ logs }: { logs: LogBook }): string[] {
  return logs.lines.filter((line) => line.includes(' DelayQueue: ') && !line.startsWith('warn'));
}

describe('the log of an application on Redis', () => {
  const SECRET = 'payload-that-is-nobodys-business';
  const orders = topic('orders', { schema: z.object({ state: z.enum(['open', 'closed']) }) });
  const bed = useBed();

  @Injectable()
  class Orders {
    @DelayedHandler(orders)
    handle(): void {}
  }

  function start(provider: Provider) {
    return bed.start({
      providers: [provider],
      options: { defaults: { partitions: 4, backoff: { type: 'fixed', delay: 10 } }, consumer: { maxIdleWait: 200 } },
    });
  }

  /** Simulates another process that handles the same topics, since Nest has one logger for all applications of a process. */
  async function setSession(record: string): Promise<void> {
    await bed.redis.hset(`{${bed.prefix}:fleet}:sessions`, 'another', record);
    await bed.redis.publish(`{${bed.prefix}:fleet}:signals`, '{"kind":"changed"}');
  }

  it('has a line for each change of its life, in one context', async () => {
    const app = await start(Jobs);
    const { host, port } = bed.connection;
    app.get(Jobs).respond = (_payload, { id, attempt }) => {
      if (id === 'failing' && attempt === 1) throw new Error('once\nsecond line');
      if (id === 'bad') throw new UnrecoverableError('never');
    };
    const says = async (line: RegExp) => eventually(() => expect(app.logs.infos.at(-1)).toMatch(line));
    await app.producer.publishMany(
      'jobs',
      Array.from({ length: 100 }, () => ({ payload: SECRET })),
    );
    await app.events.acked.take(100);
    await app.producer.publish('jobs', SECRET, { id: 'failing' });
    await app.events.acked.first(({ id }) => id === 'failing');
    await app.producer.publish('jobs', SECRET, { id: 'bad' });
    await app.events.dead.first();
    const [digest] = await bed.redis.hkeys(`{${bed.prefix}:fleet}:handled`);
    const session = `1 ${Date.now()} 60000 ${digest} p${PROTOCOL_VERSION}`;
    await setSession(session);
    await says(/^Owns 2 of 4/);
    const [, moved] = /: (.*)/.exec(app.logs.infos.at(-1) ?? '') ?? [];
    await setSession(`${session} left`);
    await says(/^Owns 4 of 4/);
    await app.get(DelayQueueAdmin).pause('jobs');
    // Who has nothing to do notices no pause.
    await app.producer.publish('jobs', SECRET);
    await says(/paused/);
    await app.get(DelayQueueAdmin).resume('jobs');
    await says(/goes on/);
    await app.events.acked.take(102);
    await app.close();

    const lines = quietLinesOf(app);
    expect(lines.pop()).toMatch(/^log DelayQueue: Shut down after \d+ ms$/);
    expect(lines).toEqual(
      [
        `log Connected to Redis at ${host}:${port}`,
        `log Jobs.work handles topic 'jobs'`,
        `log Owns 4 of 4 partitions of topic 'jobs': 0-3`,
        `debug Attempt 1 of message 'failing' of topic 'jobs' in Jobs.work failed and is repeated in 10 ms: Error: once`,
        `error Message 'bad' of topic 'jobs' is dead (unrecoverable) in Jobs.work: UnrecoverableError: never`,
        `log Owns 2 of 4 partitions of topic 'jobs': ${moved}`,
        `log Owns 4 of 4 partitions of topic 'jobs': 0-3`,
        `log Topic 'jobs' is paused`,
        `log Topic 'jobs' goes on`,
        `log Shuts down; handler calls that run: 0`,
      ].map((line) => line.replace(' ', ' DelayQueue: ')),
    );
    expect(app.logs.lines.filter((line) => line.includes(SECRET))).toEqual([]);
  });

  it('has one line for each dead letter, without what was stored', async () => {
    const app = await start(Orders);
    await app.producer.publish('orders', { state: SECRET }, { id: 'invalid' });
    const { partition } = await app.producer.publish('orders', 1, { id: 'undecodable', delay: 100 });
    await bed.redis.hset(bed.partition('orders', partition).key('messages'), 'undecodable', SECRET);
    await app.events.dead.take(2);

    expect(app.logs.errors).toEqual([
      "Message 'invalid' of topic 'orders' is dead (invalid) in Orders.handle: InvalidPayloadError",
      "Message 'undecodable' of topic 'orders' is dead (undecodable) in Orders.handle: SerializationError",
    ]);
    expect(app.logs.lines.filter((line) => line.includes(SECRET))).toEqual([]);
  });

  it('does not mention a shutdown if nothing is being handled', async () => {
    const app = await bed.start({ options: { consumer: false } });
    await app.close();
    expect(quietLinesOf(app)).toEqual([expect.stringMatching(/Connected to Redis/)]);
  });
});

describe('the log of a message that fails', () => {
  useKitBed();

  it('has its last but one attempt as a warning, those before and put-offs at debug, and its death as an error', async () => {
    const { harness, producer, jobs, logs } = await startKit();
    jobs.respond = (payload, { attempt }) => {
      throw payload === 'later' && jobs.calls.length < 4 ? new RetryLaterError('1m') : new Error(`attempt ${attempt}`);
    };
    await producer.publish('jobs', 'later', { id: 'late', attempts: 2 });
    await harness.advance('3m');
    await producer.publish('jobs', 1, { id: 'once', attempts: 1 });
    await producer.publish('jobs', 1, { id: 'a' });
    await harness.advance('10m');

    const where = "of topic 'jobs' in Jobs.handle";
    const fails = 'failed and is repeated in 60000 ms';
    const isPutOff = `Attempt 1 of message 'late' ${where} was put off by 60000 ms`;
    expect(linesOf(logs, 'debug')).toEqual([
      isPutOff,
      isPutOff,
      isPutOff,
      `Attempt 1 of message 'a' ${where} ${fails}: Error: attempt 1`,
    ]);
    expect(linesOf(logs, 'warn')).toEqual([
      `Attempt 1 of message 'late' ${where} ${fails}, for the last time: Error: attempt 1`,
      `Attempt 2 of message 'a' ${where} ${fails}, for the last time: Error: attempt 2`,
    ]);
    expect(linesOf(logs, 'error').toSorted()).toEqual([
      "Message 'a' of topic 'jobs' is dead (failed) in Jobs.handle: Error: attempt 3",
      "Message 'late' of topic 'jobs' is dead (failed) in Jobs.handle: Error: attempt 2",
      "Message 'once' of topic 'jobs' is dead (failed) in Jobs.handle: Error: attempt 1",
    ]);
  });

  it('is the same if the schema of its topic throws', async () => {
    const checked = topic('checked', {
      schema: z.any().transform(() => {
        throw new Error('no connection');
      }),
    });
    @Injectable()
    class Checked {
      @DelayedHandler(checked, { attempts: 2, backoff: { type: 'fixed', delay: '1s' } })
      handle(): void {}
    }
    const { harness, producer, logs } = await startKit({ providers: [Checked] });
    await producer.publish('checked', 1);
    await harness.advance('1m');
    expect(linesOf(logs, 'warn')).toEqual([
      expect.stringMatching(/^Attempt 1 .* for the last time: Error: no connect/),
    ]);
  });
});

describe('the log of handlers that hang', () => {
  useKitBed();

  it('has one warning of each, whether it has run for three leases or goes on after its timeout', async () => {
    const { harness, producer, jobs, logs, tape } = await startKit({ patience: 20 });
    const errors = tape('errors');
    const finish = new Gate();
    jobs.respond = async () => finish.opened;
    await producer.publish('jobs', 1, { id: 'a' });
    await producer.publish('jobs', 1, { id: 'b', timeout: '5m', attempts: 1 });
    await harness.advance('1h');
    finish.open();
    await harness.settle();

    expect(linesOf(logs, 'warn')).toEqual([
      expect.stringMatching(
        /^Jobs\.handle has run for 100 s with message 'a' of topic 'jobs', longer than three leases/,
      ),
      expect.stringMatching(/message 'b' of .* although its time was up/),
    ]);
    expect(linesOf(logs, 'error')).toEqual([expect.stringContaining('HandlerTimeoutError')]);
    expect(errors).toMatchObject([
      { source: 'overrun', topic: 'jobs', error: expect.any(HandlerOverrunError) as unknown },
    ]);
  });
});

describe('the log of an application with many topics', () => {
  const names = Array.from({ length: 50 }, (_, i) => `jobs.${i}`);

  @Injectable()
  class ManyJobs {
    @DelayedHandler(names)
    handle(): void {}
  }

  useKitBed();

  it('has a line at boot and a line for each rebalance, and a line for each topic at debug', async () => {
    const harness = new DelayQueueHarness({ now: START });
    const setup = { imports: [DelayQueueModule.forRoot()], providers: [ManyJobs] };
    const { logs } = await boot(setup, harness);
    expect(linesOf(logs, 'log')).toEqual(['Consumes 50 topics; owns 400 of 400 partitions']);
    expect(linesOf(logs, 'debug')).toHaveLength(100);

    // Nest has one logger for all applications of a process.
    const { module: second, logs: later } = await boot(setup, harness);
    await second.get(DelayQueueProducer).publish('jobs.1', 1);
    await harness.advance('10s');
    const moved = linesOf(later, 'log');
    expect(moved[0]).toMatch(/^Consumes 50 topics; owns \d+ of 400 partitions$/);
    expect(moved.filter((line) => line === 'Owns 200 of 400 partitions of 50 topics').length).toBeGreaterThanOrEqual(1);
    expect(moved.length).toBeLessThanOrEqual(3);
    await second.close();
    await harness.advance('10s');
    expect(linesOf(later, 'log').at(-1)).toBe('Owns 400 of 400 partitions of 50 topics');
    expect(linesOf(later, 'log').length).toBeLessThanOrEqual(moved.length + 3);
  });
});
