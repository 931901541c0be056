import * as fc from 'fast-check';
import * as ioredis from 'ioredis';
import { Redis } from 'ioredis';
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { StoredMessage } from '../../../lib/store/messages/stored-message.js';
import { EmbeddedBroker } from '../../../lib/engines/embedded/embedded.broker.js';
import { RedisBroker } from '../../../lib/engines/redis/redis.broker.js';
import { SystemClock } from '../../../lib/time/clock.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';
import { type PrivateRedis, startRedis } from '../../support/servers/redis-server.js';
import { step } from './operations.js';
import { type Compared, Oracle } from './oracle/oracle.js';
import { letTimePass } from './time-shift.js';
import { HOUR, Memory, PARTITION, STORED_IDS, TAGS, type TopicTerms } from './world.js';

const STEPS = 60;

/** @param runs sequences of operations for each kind of topic */
export function describeModel(runs: number): void {
  describe('the scripts in Redis, the scripts in this process, and the oracle', () => {
    let server: PrivateRedis;
    let client: Redis;

    beforeAll(async () => {
      server = await startRedis();
      client = new Redis(server.url);
    });

    afterAll(async () => {
      client.disconnect();
      await server.stop();
    });

    it.each([
      { topic: 'without an order', terms: {} },
      { topic: 'that is ordered', terms: { order: 'continue' } },
      { topic: 'that is ordered and blocks', terms: { order: 'block' } },
      { topic: 'with one message of a key in flight', terms: { keyLimits: { inFlight: 1 } } },
      { topic: 'with a rate of its keys', terms: { keyLimits: { rate: { max: 2, per: 2 * HOUR } } } },
      { topic: 'with both', terms: { keyLimits: { inFlight: 2, rate: { max: 1, per: HOUR } } } },
      {
        topic: 'that is ordered, with a rate',
        terms: { order: 'continue', keyLimits: { rate: { max: 1, per: 2 * HOUR } } },
      },
    ] satisfies { topic: string; terms: TopicTerms }[])(
      'agree after every step of any sequence of operations and passing time on a topic $topic',
      async ({ terms }) => {
        await fc.assert(
          fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: STEPS, size: 'max' }), async (steps) => {
            const prefix = randomUUID();
            const clock = new ManualClock(Date.now());
            const oracle = new Oracle(clock);
            const embedded = new EmbeddedBroker(clock);
            const log = { log: () => {}, warn: () => {}, error: () => {} };
            const redis = new RedisBroker({
              ioredis,
              redis: server.url,
              prefix,
              connectTimeout: 5000,
              clock: new SystemClock(),
              log,
            });
            await redis.connect();
            const memories = { oracle: new Memory(terms), embedded: new Memory(terms), redis: new Memory(terms) };
            const done: string[] = [];
            const pass = async (milliseconds: number): Promise<void> => {
              await clock.advance(milliseconds);
              await letTimePass(client, prefix, milliseconds);
              memories.redis.shift(milliseconds);
            };
            try {
              for (const operation of steps) {
                done.push(operation.name);
                if ('hours' in operation) {
                  await pass(operation.hours * HOUR);
                  continue;
                }
                const answer = await operation.run(oracle, memories.oracle);
                expect(await operation.run(embedded, memories.embedded), done.join('\n')).toEqual(answer);
                expect(await operation.run(redis, memories.redis), done.join('\n')).toEqual(answer);
                // Times of different steps have to differ by more than the milliseconds that a step takes.
                await pass(1000);
                const state = await stateOf(oracle, clock.now());
                expect(await stateOf(embedded, clock.now()), done.join('\n')).toEqual(state);
                expect(await stateOf(redis, Date.now()), done.join('\n')).toEqual(state);
              }
            } finally {
              await redis.close();
            }
          }),
          { numRuns: runs },
        );
      },
      300_000,
    );
  });
}

/** Everything visible of the partition; times as hours from now. */
async function stateOf(broker: Compared, now: number): Promise<unknown> {
  const inHours = (time: number | undefined): number | undefined => time && Math.round((time - now) / HOUR);
  const messages = await Promise.all(
    STORED_IDS.map(async (id) => {
      const message = await broker.messages.get(PARTITION, id);
      return message && visible(message, inHours);
    }),
  );
  const listed = await broker.messages.peek(PARTITION, { state: 'finished', limit: 100, maxBytes: 1_000_000 });
  const finished = listed.messages.map((message) => visible(message, inHours));
  const tagged: Record<string, string[]> = {};
  for (const tag of TAGS) {
    for (const state of ['scheduled', 'in-flight', 'dead'] as const) {
      const page = await broker.messages.peek(PARTITION, { state, tag, limit: 100, maxBytes: 1_000_000 });
      tagged[`${state} ${tag}`] = page.messages.map(({ storedId }) => storedId);
    }
  }
  const stats = await broker.messages.stats(PARTITION);
  const { nextDueAt, oldestBlockedDueAt, heldUntil } = stats;
  const times = {
    nextDueAt: inHours(nextDueAt),
    oldestBlockedDueAt: inHours(oldestBlockedDueAt),
    heldUntil: inHours(heldUntil),
  };
  return { messages, finished, tagged, stats: { ...stats, ...times } };
}

function visible(message: StoredMessage, inHours: (time: number | undefined) => number | undefined): unknown {
  const ending = message.ending && { ...message.ending, dueAt: inHours(message.ending.dueAt) };
  return { ...message, at: inHours(message.at), dueAt: inHours(message.dueAt), ending };
}
