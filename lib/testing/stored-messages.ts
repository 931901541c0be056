import type { StoredMessage } from '../store/messages/stored-message.js';
import type { Partition } from '../store/partition.js';
import { fromBytes, toBytes } from '../engines/embedded/bytes.js';
import type { EmbeddedBroker } from '../engines/embedded/embedded.broker.js';
import { peekedMessages } from '../store/messages/stored-message.js';
import { partitionsOf } from '../store/partitions.js';

export interface PlacedMessage {
  readonly partition: Partition;
  readonly stored: StoredMessage;
}

/** What is not limited: a test wants all. */
const ALL = { limit: 1e6, max_bytes: 1e12, since: '-inf', till: 'inf', after_score: '', after_id: '', fields: 'edf' };

/** Looks at what a broker in this process keeps, and answers at once. */
export class StoredMessages {
  readonly #broker: EmbeddedBroker;

  constructor(broker: EmbeddedBroker) {
    this.#broker = broker;
  }

  get topics(): string[] {
    const { data, keys } = this.#broker;
    return (data.call('HKEYS', toBytes(keys.fleet.topics)) as string[]).map(fromBytes).toSorted();
  }

  /** All that a topic holds in this state, in order of {@link StoredMessage.at}. */
  list(topic: string, state: 'scheduled' | 'dead'): PlacedMessage[] {
    return this.#partitionsOf(topic)
      .flatMap((partition) => this.#listed(partition, state).map((stored) => ({ partition, stored })))
      .toSorted((a, b) => a.stored.at - b.stored.at);
  }

  /** Of all topics. */
  forgetFinished(): void {
    const { data, keys } = this.#broker;
    for (const partition of this.topics.flatMap((topic) => this.#partitionsOf(topic))) {
      const { finished, endings } = keys.partition(partition);
      data.call('DEL', toBytes(finished), toBytes(endings));
    }
  }

  #partitionsOf(topic: string): readonly Partition[] {
    const { data, keys } = this.#broker;
    return partitionsOf(topic, Number(data.call('HGET', toBytes(keys.topic(topic).config), 'partitions')));
  }

  #listed(partition: Partition, state: 'scheduled' | 'dead'): StoredMessage[] {
    const { driver, keys } = this.#broker;
    const place = keys.partition(partition);
    const sets = state === 'dead' ? [place.dead] : [place.scheduled, place.blocked];
    return sets.flatMap((set) => {
      const reply = driver.runNow('list', place, { ...ALL, set, is_dead: state === 'dead' ? 1 : 0 });
      return [...peekedMessages(state, reply).messages];
    });
  }
}
