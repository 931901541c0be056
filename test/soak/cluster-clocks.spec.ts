import { type INestApplicationContext, Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Command } from 'ioredis';
import { DelayedHandler, type DelayedMessage, DelayQueueModule, DelayQueueProducer } from 'nestjs-delay-queue';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Recorder } from '../support/app/recorder.js';
import { fakedClock } from '../support/servers/faked-clock.js';
import { type PrivateCluster, startRedisCluster } from '../support/servers/redis-cluster.js';

/** How far the clocks of the nodes are ahead of the machine's, in milliseconds. */
const AHEAD = [0, 100, 3000];

const TOPIC = 'alarms';
const PARTITIONS = 24;
const MESSAGES = 600;

/** Milliseconds. */
const LONGEST_DELAY = 3000;

describe('nodes of a cluster whose clocks differ', () => {
  let cluster: PrivateCluster;
  let app: INestApplicationContext;
  let alarms: Recorder<number>;
  beforeAll(async () => {
    cluster = await startRedisCluster(AHEAD.length, [], AHEAD.map(fakedClock));
    [app, alarms] = await startApp(cluster);
  }, 60_000);
  afterAll(async () => {
    await app.close();
    await cluster.stop();
  });

  it('deliver on time: not early, and not late by the difference', async () => {
    const producer = app.get(DelayQueueProducer);
    const delays = Array.from({ length: MESSAGES }, () => Math.ceil(Math.random() * LONGEST_DELAY));
    await Promise.all(delays.map(async (delay) => producer.publish(TOPIC, delay, { delay })));
    const calls = await alarms.called(MESSAGES, 30_000);
    const latenesses = AHEAD.map((): number[] => []);
    for (const { message, at } of calls) {
      const node = nodeOf(message.partition);
      // The due time is on the clock of the node.
      latenesses[node]?.push(at + (AHEAD[node] ?? 0) - message.dueAt.getTime());
    }
    const figures = latenesses.map((all) => ({ earliest: Math.min(...all), p50: median(all) }));
    console.log(JSON.stringify(figures));

    for (const { earliest, p50 } of figures) {
      // Some milliseconds for what the clock of this process may have drifted since it began.
      expect(earliest).toBeGreaterThan(-20);
      // The smaller difference would make every message of its node late by 100 ms.
      expect(p50).toBeLessThan(50);
    }
  }, 60_000);
});

async function startApp({ nodes }: PrivateCluster): Promise<[INestApplicationContext, Recorder<number>]> {
  @Injectable()
  class AlarmHandler extends Recorder<number> {
    @DelayedHandler(TOPIC)
    handle(payload: number, message: DelayedMessage<number>): unknown {
      return this.take(payload, message);
    }
  }
  @Module({
    imports: [DelayQueueModule.forRoot({ redis: { nodes }, topics: { [TOPIC]: { partitions: PARTITIONS } } })],
    providers: [AlarmHandler],
  })
  class App {}
  const app = await NestFactory.createApplicationContext(App, { logger: false });
  return [app, app.get(AlarmHandler)];
}

/** Which node holds a partition. */
function nodeOf(partition: number): number {
  const slot = new Command('get', [`{dq:${TOPIC}:${partition}}`]).getSlot();
  return Math.floor(slot / Math.ceil(16_384 / AHEAD.length));
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
