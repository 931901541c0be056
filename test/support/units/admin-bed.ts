import type { AdminDependencies } from '../../../lib/admin/admin-dependencies.js';
import type { DelayQueueAdmin } from '../../../lib/admin/delay-queue.admin.js';
import type { Broker } from '../../../lib/store/broker.interface.js';
import type { Receipt } from '../../../lib/store/deliveries/receipt.js';
import type { TopicOrder } from '../../../lib/store/fleet/topic-config.js';
import { EmbeddedBroker } from '../../../lib/engines/embedded/embedded.broker.js';
import { type Around, type BrokerCall, wrapBroker } from '../../../lib/store/wrap-broker.js';
import { encodeEnvelope } from '../../../lib/messages/envelope.js';
import { partitionOf } from '../../../lib/messages/partitioner.js';
import { toStoredId } from '../../../lib/messages/stored-id.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';
import { type ClaimFields, Claimant } from '../broker/claimant.js';
import { FAILURE } from '../broker/broker-bed.js';
import { testAdmin } from './admin.js';

export const TOPIC = 'orders';
export const NOW = 1_700_000_000_000;

/** How a message is published; due at {@link NOW} plus `due`. */
export interface GivenMessage {
  readonly due?: number;
  readonly key?: string;
  readonly payload?: unknown;
  readonly tags?: readonly string[];
  readonly envelope?: string;
}

/** An admin on a topic of a broker in memory, with a hand on its clock and on each call. */
export class AdminBed {
  readonly clock = new ManualClock(NOW);
  readonly embedded = new EmbeddedBroker(this.clock);
  readonly calls: BrokerCall[] = [];
  /** What is done in the place of a call of the admin. */
  around: Around = async ({ run }) => run();
  readonly admin: DelayQueueAdmin;
  readonly #partitions: number;
  readonly #order: TopicOrder | undefined;
  #sequence = 0;

  private constructor(partitions: number, order: TopicOrder | undefined, given: Partial<AdminDependencies>) {
    this.#partitions = partitions;
    this.#order = order;
    const broker: Broker = wrapBroker(this.embedded, async (call) => {
      this.calls.push(call);
      return this.around(call);
    });
    this.admin = testAdmin(broker, this.clock, given);
  }

  static async open(partitions = 4, order?: TopicOrder, given: Partial<AdminDependencies> = {}): Promise<AdminBed> {
    const bed = new AdminBed(partitions, order, given);
    await bed.embedded.fleet.configure(TOPIC, partitions, order);
    return bed;
  }

  async publish(
    id: string,
    { due = 1000, key = id, payload = { id }, tags, envelope }: GivenMessage = {},
  ): Promise<void> {
    const written = envelope ?? encodeEnvelope({ payload, publishedAt: NOW, ...(tags && { tags }) });
    const message = {
      storedId: toStoredId(id, key),
      envelope: written,
      due: { at: NOW + due },
      tags,
      onDuplicate: 'reject',
    } as const;
    const call = { caller: 'test', sequence: ++this.#sequence };
    await this.embedded.messages.publish(this.partitionOf(key), call, [message], { order: this.#order });
  }

  /** Has what is due of a key's partition in flight, and then dead if that is wanted. */
  async deliver(key: string, becomes: 'in-flight' | 'dead', fields: ClaimFields = {}): Promise<Receipt[]> {
    const claimant = new Claimant(this.embedded, this.partitionOf(key));
    await claimant.acquire();
    const { messages } = await claimant.claim(fields);
    if (becomes === 'in-flight') return messages;
    const outcome = { kind: 'dead', failure: { ...FAILURE, code: 'E_7' } } as const;
    const settlements = messages.map(({ storedId, token }) => ({ storedId, token, outcome }));
    await this.embedded.deliveries.settle(
      this.partitionOf(key),
      { caller: 'settler', sequence: ++this.#sequence },
      settlements,
    );
    return messages;
  }

  partitionOf(key: string): { topic: string; index: number } {
    return { topic: TOPIC, index: partitionOf(key, this.#partitions) };
  }

  /** How many calls of this kind the admin has made. */
  count(operation: BrokerCall['operation']): number {
    return this.calls.filter((call) => call.operation === operation).length;
  }

  /** When the messages that wait are due, from {@link NOW} on, by their ids. */
  async dues(): Promise<Record<string, number>> {
    const { messages } = await this.admin.search(TOPIC, { all: true }, { states: ['scheduled'], limit: 200 });
    return Object.fromEntries(messages.map(({ id, at }) => [id, at.getTime() - NOW]));
  }
}
