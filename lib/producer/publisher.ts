import type { TopicOrder } from '../store/fleet/topic-config.js';
import type { PublishResult } from '../store/messages/publish.js';
import type { Partition } from '../store/partition.js';
import { DuplicateMessageError, NotReplicatedError } from '../errors/publishing.errors.js';
import type { EventSink } from '../events/queue-events.interface.js';
import { partitionOf } from '../messages/partitioner.js';
import { PublishManyError } from '../messages/publish-many.error.js';
import type { PublishedMessage, ConfirmedPublish } from '../messages/publish-options.interface.js';
import { MOST_APART, RequirementNumbers } from '../messages/replicas.js';
import { Lanes } from '../store/calls/lanes.js';
import { PublishLane, type PublishLaneOptions, type PublishSink, type Terms, travelTogether } from './publish-lane.js';
import type { PublishRequest } from './publish-request.js';

export interface PublisherOptions extends Omit<PublishLaneOptions, 'partition' | 'order'> {
  /** Returns the order of a topic that is known by now. */
  readonly orderOf: (topic: string) => TopicOrder | undefined;
  readonly events: EventSink;
  readonly onFailed?: OnPublishFailed | undefined;
}

/** Called for messages that were not published, with the reason; it does not throw. */
export type OnPublishFailed = (topic: string, error: unknown, messages: number) => void;

/** Topic that messages go to, with its number of partitions. */
export interface Route {
  readonly topic: string;
  readonly partitions: number;
}

/** The part of a call that belongs to one partition and travels on the same terms. */
interface Part {
  readonly partition: Partition;
  readonly terms: Terms;
  readonly requests: PublishRequest[];
  /** Place of each request in the call. */
  readonly places: number[];
}

/** Sends messages that passed every check, with one promise for each call, however many messages it has. */
export class Publisher {
  readonly #options: PublisherOptions;
  readonly #lanes: Lanes<PublishLane>;
  /** Lanes for messages that wait for replicas, by the numbers of their requirements, so that others need not wait with them. */
  readonly #replicatedLanes: readonly Lanes<PublishLane>[];
  readonly #requirements = new RequirementNumbers();

  constructor(options: PublisherOptions) {
    this.#options = options;
    const laneOf =
      (caller: string) =>
      (partition: Partition): PublishLane =>
        new PublishLane({ ...options, caller, partition, order: options.orderOf(partition.topic) });
    this.#lanes = new Lanes(laneOf(options.caller));
    this.#replicatedLanes = Array.from(
      { length: MOST_APART },
      (_, number) => new Lanes(laneOf(`${options.caller}:replicated:${number}`)),
    );
  }

  /** @throws DuplicateMessageError, NotReplicatedError, BrokerUnavailableError */
  publish({ topic, partitions }: Route, request: PublishRequest): Promise<PublishedMessage> {
    const partition = { topic, index: partitionOf(request.key, partitions) };
    return new Promise((resolve, reject) => {
      const sink: PublishSink = {
        answered: (_, result) => {
          const error = failureOf(topic, request, result);
          if (error) reject(this.#failed(topic, error));
          else resolve(this.#published(partition, request, result));
        },
        failed: (_, error) => reject(this.#failed(topic, error)),
      };
      this.#lane(partition, request).publish([request], sink, request);
    });
  }

  /**
   * @param requests at least one
   * @returns published messages in the order of the requests
   * @throws PublishManyError if some failed
   */
  publishAll({ topic, partitions }: Route, requests: readonly PublishRequest[]): Promise<PublishedMessage[]> {
    const parts = partsOf(topic, partitions, requests);
    return new Promise((resolve, reject) => {
      const outcome = new ManyOutcomes(topic, requests.length, resolve, reject);
      for (const { partition, terms, requests: messages, places } of parts) {
        const sink: PublishSink = {
          answered: (n, result) => {
            const request = messages[n] as PublishRequest;
            const place = places[n] as number;
            const error = failureOf(topic, request, result);
            if (error) outcome.failed(place, this.#failed(topic, error));
            else outcome.published(place, this.#published(partition, request, result));
          },
          failed: (n, error) => outcome.failed(places[n] as number, this.#failed(topic, error)),
        };
        this.#lane(partition, terms).publish(messages, sink, terms);
      }
    });
  }

  #lane({ topic, index }: Partition, { replicas }: Terms): PublishLane {
    const lanes = replicas ? this.#replicatedLanes[this.#requirements.of(replicas)] : this.#lanes;
    return (lanes as Lanes<PublishLane>).get(topic, index);
  }

  #published(
    { topic, index: partition }: Partition,
    { id }: PublishRequest,
    { status, dueAt }: PublishResult,
  ): ConfirmedPublish {
    const published = { id, topic, partition, dueAt: new Date(dueAt), duplicate: status !== 'created' };
    const { events } = this.#options;
    if (events.wants('published')) events.emit('published', published);
    return published;
  }

  #failed(topic: string, error: unknown): unknown {
    this.#options.onFailed?.(topic, error, 1);
    return error;
  }
}

/** Splits a call into one part for each partition, or several if its messages do not all travel on the same terms. */
function partsOf(topic: string, partitions: number, requests: readonly PublishRequest[]): Part[] {
  const parts: Part[] = [];
  const latest = new Map<number, Part>();
  for (let place = 0; place < requests.length; place++) {
    const request = requests[place] as PublishRequest;
    const index = partitionOf(request.key, partitions);
    let part = latest.get(index);
    if (!part || !travelTogether(part.terms, request)) {
      part = { partition: { topic, index }, terms: request, requests: [], places: [] };
      latest.set(index, part);
      parts.push(part);
    }
    part.requests.push(request);
    part.places.push(place);
  }
  return parts;
}

/** Returns why a message counts as not published although the broker has answered. */
function failureOf(
  topic: string,
  { id, replicas }: PublishRequest,
  { status, finishedAs, confirmedBy = 0 }: PublishResult,
): Error | undefined {
  if (status === 'rejected') return new DuplicateMessageError(topic, id, finishedAs);
  if (!replicas || confirmedBy >= replicas.min) return undefined;
  return new NotReplicatedError(topic, id, confirmedBy, replicas.min, replicas.timeout);
}

/** Collects the results of messages that were published together, until all are known. */
class ManyOutcomes {
  readonly #topic: string;
  readonly #resolve: (published: PublishedMessage[]) => void;
  readonly #reject: (error: PublishManyError) => void;
  readonly #published: PublishedMessage[] = [];
  readonly #failures = new Map<number, unknown>();
  #open: number;

  constructor(
    topic: string,
    messages: number,
    resolve: (published: PublishedMessage[]) => void,
    reject: (error: PublishManyError) => void,
  ) {
    this.#topic = topic;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#published.length = messages;
    this.#open = messages;
  }

  published(place: number, message: PublishedMessage): void {
    this.#published[place] = message;
    this.#count();
  }

  failed(place: number, error: unknown): void {
    this.#failures.set(place, error);
    this.#count();
  }

  #count(): void {
    if (--this.#open > 0) return;
    if (this.#failures.size === 0) this.#resolve(this.#published);
    else this.#reject(new PublishManyError(this.#topic, this.#settled()));
  }

  #settled(): PromiseSettledResult<PublishedMessage>[] {
    return Array.from(this.#published, (value, place) =>
      this.#failures.has(place)
        ? { status: 'rejected', reason: this.#failures.get(place) }
        : { status: 'fulfilled', value },
    );
  }
}
