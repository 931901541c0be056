import { Injectable } from '@nestjs/common';
import {
  DelayQueueModule,
  DelayQueueProducer,
  DelayedHandler,
  HandlerOverrunError,
  RetryLaterError,
  topic,
} from 'nestjs-delay-queue';
import { DelayQueueHarness } from 'nestjs-delay-queue/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { MINUTE, START, boot, start, useKitBed } from '../../support/kit/kit-bed.js';
import type { LogBook } from '../../support/app/log-book.js';
import { Gate } from '../../support/waiting.js';

useKitBed();

/** What the library has logged at a level, without the lines of the boot. */
function linesOf({ lines }: LogBook, level: 'log' | 'warn' | 'error' | 'debug'): string[] {
  const begin = `${level} DelayQueue: `;
  return lines.filter((line) => line.startsWith(begin)).map((line) => line.slice(begin.length));
}

describe('the log of a message that fails', () => {
  it('has its last but one attempt as a warning, those before at debug, and its death as an error', async () => {
    const { harness, producer, jobs, logs } = await start();
    jobs.respond = (_payload, { attempt }) => {
      throw new Error(`attempt ${attempt}`);
    };
    await producer.publish('jobs', 1, { id: 'a' });
    await harness.advance('10m');

    const where = "of message 'a' of topic 'jobs' in Jobs.handle failed and is repeated in 60000 ms";
    expect(linesOf(logs, 'debug')).toEqual([`Attempt 1 ${where}: Error: attempt 1`]);
    expect(linesOf(logs, 'warn')).toEqual([`Attempt 2 ${where}, for the last time: Error: attempt 2`]);
    expect(linesOf(logs, 'error')).toEqual([
      "Message 'a' of topic 'jobs' is dead (failed) in Jobs.handle: Error: attempt 3",
    ]);
  });

  it('counts the attempts of the message, and a put-off as none', async () => {
    const { harness, producer, jobs, logs } = await start();
    jobs.respond = (payload) => {
      throw payload === 'later' && jobs.calls.length < 3 ? new RetryLaterError('1m') : new Error('no');
    };
    await producer.publish('jobs', 'now', { attempts: 1 });
    await harness.settle();
    jobs.calls.length = 0;
    await producer.publish('jobs', 'later', { attempts: 2 });
    await harness.advance('10m');

    expect(linesOf(logs, 'debug')).toHaveLength(2);
    expect(linesOf(logs, 'warn')).toEqual([expect.stringMatching(/^Attempt 1 of .* for the last time: Error: no$/)]);
    expect(linesOf(logs, 'error')).toHaveLength(2);
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
    const { harness, producer, logs } = await start({ providers: [Checked] });
    await producer.publish('checked', 1);
    await harness.advance('1m');
    expect(linesOf(logs, 'warn')).toEqual([
      expect.stringMatching(/^Attempt 1 .* for the last time: Error: no connect/),
    ]);
  });
});

describe('the log of a handler that hangs', () => {
  it('has one warning after three leases, which names it and its message, and so has an event', async () => {
    const { harness, producer, jobs, logs, tape, elapsed } = await start({ patience: 20 });
    const errors = tape('errors');
    const finish = new Gate();
    jobs.respond = async () => finish.opened;
    await producer.publish('jobs', 1, { id: 'a' });
    await harness.advance('90s');
    expect(linesOf(logs, 'warn')).toEqual([]);
    await harness.advance('1h');
    expect(elapsed()).toBe(61.5 * MINUTE);
    finish.open();
    await harness.settle();

    expect(linesOf(logs, 'warn')).toEqual([
      expect.stringMatching(
        /^Jobs\.handle has run for 100 s with message 'a' of topic 'jobs', longer than three leases/,
      ),
    ]);
    expect(errors).toMatchObject([
      { source: 'overrun', topic: 'jobs', error: expect.any(HandlerOverrunError) as unknown },
    ]);
  });

  it('tells of a handler with a timeout only that it goes on after it', async () => {
    const { harness, producer, jobs, logs } = await start({ patience: 20 });
    jobs.respond = () => new Promise(() => {});
    await producer.publish('jobs', 1, { timeout: '5m', attempts: 1 });
    await harness.advance('1h');
    expect(linesOf(logs, 'warn')).toEqual([expect.stringContaining('although its time was up')]);
    expect(linesOf(logs, 'error')).toEqual([expect.stringContaining('HandlerTimeoutError')]);
  });
});

describe('the log of an application with many topics', () => {
  const names = Array.from({ length: 50 }, (_, i) => `jobs.${i}`);

  @Injectable()
  class ManyJobs {
    @DelayedHandler(names)
    handle(): void {}
  }

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
