import { randomUUID } from 'node:crypto';
import * as ioredis from 'ioredis';
import { RedisBroker } from '../../lib/engines/redis/redis.broker.js';
import type { RetentionLimits } from '../../lib/store/dead-letters/retention.js';
import type { Limits } from '../../lib/store/deliveries/limits.js';
import { SHARES_FROM } from '../../lib/store/deliveries/claim.js';
import type { Receipt } from '../../lib/store/deliveries/receipt.js';
import { ownerOf } from '../../lib/store/fleet/owner.js';
import type { TopicOrder } from '../../lib/store/fleet/topic-config.js';
import { SystemClock } from '../../lib/time/clock.js';
import type { Counted } from './counted.js';
import { messageOf } from './message.js';

const HOUR = 3_600_000;
const OWNER = ownerOf('9f3ac07be41d2258', 'bench');
const SILENT = { log() {}, warn() {}, error() {} };

/** Values that each tag of a message can have. */
const TAG_VALUES = 100;

/** What the messages of a partition have, or their topic. */
export interface Features {
  /** Number of keys that the messages share. @defaultValue none has a key */
  readonly keys?: number;
  readonly order?: TopicOrder;
  readonly keyLimits?: Limits;
  /** Limits on the finished messages that are kept. @defaultValue none is */
  readonly finished?: RetentionLimits;
  /** Tags of each message. @defaultValue 0 */
  readonly tags?: number;
  /** Whether another process than the owner settles, as receivers do. @defaultValue false */
  readonly pulled?: boolean;
}

/** A partition of ours, as its owner calls the broker. */
export async function openPartition(socket: string, features: Features): Promise<Counted> {
  const { keys, order, keyLimits, finished, tags = 0, pulled = false } = features;
  const redis = { path: socket };
  const clock = new SystemClock();
  const broker = new RedisBroker({ ioredis, redis, prefix: 'dq', connectTimeout: HOUR, clock, log: SILENT });
  await broker.connect();
  const partition = { topic: randomUUID(), index: 0 };
  await broker.fleet.acquire(partition, OWNER, undefined);
  let [calls, claims, delivered, published] = [0, 0, 0, 0];
  /** Ended by the next claim. */
  let succeeded: readonly Receipt[] = [];
  async function settle(messages: readonly Receipt[]): Promise<void> {
    if (messages.length === 0) return;
    const settlements = messages.map((receipt) => ({ ...receipt, outcome: { kind: 'ack' } as const }));
    const call = { caller: OWNER, sequence: ++calls };
    await broker.deliveries.settle(partition, call, settlements, finished && OWNER, pulled ? undefined : OWNER);
  }

  return {
    async publish(count) {
      const messages = Array.from({ length: count }, () => {
        const number = published++;
        const { id: storedId, envelope } = messageOf(keys === undefined ? undefined : `key-${number % keys}`);
        const tagged = Array.from({ length: tags }, (_, i) => `tag-${i}-${number % TAG_VALUES}`);
        return {
          storedId,
          envelope,
          due: { after: 0 },
          onDuplicate: 'impossible',
          tags: tags > 0 ? tagged : undefined,
        } as const;
      });
      await broker.messages.publish(partition, { caller: OWNER, sequence: ++calls }, messages, { order });
    },
    async handle(most) {
      const ask = {
        owner: OWNER,
        sequence: ++claims,
        delivered,
        max: most,
        lease: HOUR,
        succeeded,
        sharesFrom: pulled ? undefined : SHARES_FROM,
      };
      const result = await broker.deliveries.claim(partition, { ...ask, order, keyLimits, finished });
      if (result.status !== 'claimed') throw new Error(`The claim was answered with '${result.status}'.`);
      const { messages } = result;
      ({ delivered } = result);
      if (pulled || finished) await settle(messages);
      else succeeded = messages;
      return messages.length;
    },
    close: () => broker.close(),
  };
}
