import { Injectable } from '@nestjs/common';
import { DelayedHandler, DelayQueueEvents, UnrecoverableError } from 'nestjs-delay-queue';
import type { FleetEvent } from 'nestjs-delay-queue/admin';
import { expect, it, vi } from 'vitest';
import { type Bed, type RunningApp, onOwnRedis } from '../../support/app/bed.js';
import { eventually } from '../../support/waiting.js';
import { bootApplication, modulesMade } from '../../support/docs/application.js';
import type { DrivenDocument, Run } from '../../support/docs/driven-document.js';

/** Where the events are with the default prefix, which the block has. */
const STREAM = '{dq:events}';

@Injectable()
class Orders {
  @DelayedHandler('order.timeout')
  onTimeout(order: string): void {
    if (order === 'hopeless') throw new UnrecoverableError('There is no such order');
  }
}

export function eventsAndLogging(document: DrivenDocument): void {
  document.drive('Process events #1', (run) => {
    it('says what has become a dead letter', async () => {
      const { events, harness, producer } = await bootApplication({ providers: [Orders] });
      const error = vi.spyOn(console, 'error').mockReturnValue();
      await run({ events });
      await producer.publish('order.timeout', 'hopeless', { id: '42' });
      await producer.publish('order.timeout', 'fine', { id: '43' });
      await harness.settle();

      expect(error.mock.calls).toEqual([
        ['Message 42 of order.timeout is dead (unrecoverable): There is no such order'],
      ]);
    });
  });

  document.drive('Fleet events #1', (run) => {
    it('tells a process without the option what another one does that has it', async () => {
      await onOwnRedis(async (own) => {
        const error = vi.spyOn(console, 'error').mockReturnValue();
        const { worker } = await startFleet(own, run);
        await worker.producer.publish('order.timeout', 'fine', { id: '41' });
        await worker.producer.publish('order.timeout', 'hopeless', { id: '42' });

        await eventually(() => expect(error).toHaveBeenCalled());
        const name = new RegExp(`^\\S+:${process.pid}:[0-9a-f-]{36}: order.timeout 42 is dead$`);
        expect(error.mock.calls).toEqual([[expect.stringMatching(name)]]);
      });
    });

    it('tells exactly how many events were missed', async () => {
      await onOwnRedis(async (own) => {
        const warn = vi.spyOn(console, 'warn').mockReturnValue();
        const { worker, heard } = await startFleet(own, run);
        await worker.producer.publish('order.timeout', 'heard');
        // Eight partitions, and a message that was published, delivered and acknowledged.
        const before = 8 + 3;
        await eventually(() => expect(heard).toHaveLength(before));
        expect((await storedEntries(own)).at(-1)?.offset).toBe(before);

        const letIn = await shutReaderOut(own);
        await worker.producer.publish('order.timeout', 'missed');
        await worker.events.acked.take(2);
        await eventually(async () => expect((await storedEntries(own)).at(-1)?.offset).toBe(before + 3));
        await own.redis.xtrim(STREAM, 'MAXLEN', 1);
        const [left] = await storedEntries(own);
        const missed = (left?.offset ?? NaN) - (left?.count ?? NaN) - before;
        expect(missed).toBeGreaterThan(0);
        await letIn();

        await eventually(() => expect(warn).toHaveBeenCalled());
        expect(warn.mock.calls).toEqual([[`${missed} events were missed`]]);
      });
    });
  });
}

/** Boots a process that listens as the block does, and then one with the block's module. */
async function startFleet(own: Bed, run: Run): Promise<{ worker: RunningApp; heard: FleetEvent[] }> {
  const listener = await own.start({ options: { prefix: 'dq', consumer: false } });
  const events = listener.get(DelayQueueEvents);
  const heard: FleetEvent[] = [];
  const { host, port } = own.connection;
  const imports = await modulesMade(async () => run({ events, redis: `redis://${host}:${port}` }));
  events.fleet.subscribe((event) => heard.push(event));
  await eventually(async () => expect(await readers(own)).toHaveLength(1));
  const worker = await own.compileWith({ imports, providers: [Orders] });
  await worker.nest.init();
  return { worker, heard };
}

/** Ids of the connections that wait for events. */
async function readers({ redis }: Bed): Promise<string[]> {
  const clients = ((await redis.client('LIST')) as string).split('\n');
  const reading = clients.filter((line) => / flags=\S*b/.test(line) && line.includes(' cmd=xread '));
  return reading.map((line) => /^id=(\d+)/.exec(line)?.[1] ?? '');
}

/** Ends the connection that reads, and has Redis refuse another one until the function is called that this resolves with. */
async function shutReaderOut(own: Bed): Promise<() => Promise<unknown>> {
  const clients = ((await own.redis.client('LIST')) as string).trim().split('\n');
  await own.redis.config('SET', 'maxclients', clients.length - 1);
  for (const id of await readers(own)) await own.redis.client('KILL', 'ID', id);
  return async () => own.redis.config('SET', 'maxclients', 1000);
}

/** What the stream holds: how many events each entry has, and how many had ever been appended after it. */
async function storedEntries({ redis }: Bed): Promise<{ offset: number; count: number }[]> {
  const entries = await redis.xrange(STREAM, '-', '+');
  return entries.map(([id, fields]) => ({
    offset: Number.parseInt(id, 10),
    count: Number(fields[fields.indexOf('n') + 1]),
  }));
}
