import type { Broker } from '../store/broker.interface.js';
import type { MessageLook } from '../store/messages/message-look.js';
import type { StoredMessage } from '../store/messages/stored-message.js';
import type { Partition } from '../store/partition.js';
import { nearest } from '../checks/nearest.js';
import { liveProcesses, receiversOf } from '../fleet/live-processes.js';
import type { MessageRef } from '../messages/message-ref.js';
import type { FinishedOutcome } from '../errors/publishing.errors.js';
import { publishedAtOf, readablePart } from '../messages/envelope.js';
import type { Failure } from '../messages/failure.js';
import { fromStoredId } from '../messages/stored-id.js';
import { toDate } from '../time/date.js';
import { findMessage } from '../producer/find-message.js';
import { type AdminDependencies, served } from './admin-dependencies.js';
import { type FleetReceiver, tellOwn, toReceiver } from './fleet.js';
import {
  type Evidence,
  type ExplainCause,
  type SoughtPlace,
  adviseOn,
  adviseOnFinished,
  adviseOnUnknown,
  causesOf,
  ownerOfMessage,
  runnerOf,
} from './explain-causes.js';

/**
 * Explanation of why a message has not run, or of its outcome.
 *
 * @publicApi
 */
export interface Explanation {
  /** The first cause that holds, in a fixed order. @see EXPLAIN_CAUSES */
  readonly cause: ExplainCause;
  /** The other causes that hold, in the same order: what would keep the message waiting without the first one. */
  readonly also: readonly ExplainCause[];
  /** Facts on which the explanation is based. */
  readonly facts: ExplainFacts;
  /** Meaning of the cause, and what to do, in English. */
  readonly advice: string;
}

/**
 * Facts on which an explanation is based. A fact that is unknown or does not apply is `undefined`.
 *
 * @publicApi
 */
export interface ExplainFacts {
  /** Topic in which the message was looked for. */
  readonly topic: string;
  /** Id of the message. */
  readonly id: string;
  /** Its key; the id, if it was published without one. */
  readonly key: string | undefined;
  /** Its partition in the topic. */
  readonly partition: number | undefined;
  /** When the facts were read, on the Redis server's clock. */
  readonly at: Date | undefined;
  /** `'scheduled'`, `'in-flight'`, `'dead'` or `'finished'`. */
  readonly state: 'scheduled' | 'in-flight' | 'dead' | 'finished' | undefined;
  /** When it is due, if it is scheduled; when it was due, if it is in flight: its handler did not begin earlier. */
  readonly dueAt: Date | undefined;
  /** When it expires, if it was published with `expireAfter` and was not delivered yet. */
  readonly expiresAt: Date | undefined;
  /** When its lease ends, if it is in flight. */
  readonly leaseEndsAt: Date | undefined;
  /** When it died, if it is a dead letter. */
  readonly diedAt: Date | undefined;
  /** When it ended, if it is finished and kept. */
  readonly finishedAt: Date | undefined;
  /** Its outcome, if it is finished and kept. */
  readonly outcome: FinishedOutcome | undefined;
  /** When it was published. */
  readonly publishedAt: Date | undefined;
  /** Deliveries so far. */
  readonly deliveries: number | undefined;
  /** Attempts spent so far. */
  readonly attempts: number | undefined;
  /** Deliveries in a row that ended with their lease, the current one not included. */
  readonly crashes: number | undefined;
  /** Why it is dead, or why its last attempt failed. */
  readonly failure: Failure | undefined;
  /** `'cancelled'` or `'replaced'`, if that happened while it was in flight; it takes effect when its delivery ends. */
  readonly mark: 'cancelled' | 'replaced' | undefined;
  /** Process that handles it or handled it, if that is known. */
  readonly runner: string | undefined;
  /** Number of messages of its partition that are handed out before it, or would be if it was due. */
  readonly before: number | undefined;
  /** In an ordered topic, the id of the message of its key that comes first. */
  readonly blockedBy: string | undefined;
  /** Whether its partition is paused. */
  readonly paused: boolean | undefined;
  /**
   * Time until which nothing of the topic begins, because someone holds it or a handler has met a rate limit.
   *
   * @see docs/guides/limits.md#handling-429
   */
  readonly heldUntil: Date | undefined;
  /** Limit of its key or of the topic that it waits for: how many begin (`'rate'`), or how many are in flight (`'inFlight'`). */
  readonly limit: 'rate' | 'inFlight' | undefined;
  /** Live processes that handle the topic, or take part in it because someone receives there. */
  readonly handlers: readonly string[];
  /**
   * Consumers that receive the topic, or did so in the last 15 minutes, as `fleet()` lists them.
   *
   * @see docs/reference/admin.md#fleet
   */
  readonly receivers: readonly FleetReceiver[];
  /** Process that is stored as the owner of its partition. */
  readonly owner: string | undefined;
  /** Whether that process is alive, by its heartbeats. */
  readonly ownerAlive: boolean | undefined;
  /** Most handler calls of the owner at once. */
  readonly ownerConcurrency: number | undefined;
  /** Number of handler calls of the owner that ran at its latest heartbeat. */
  readonly ownerBusy: number | undefined;
}

/** A message where it was found. */
interface FoundMessage {
  readonly partition: Partition;
  readonly storedId: string;
  readonly message: MessageLook;
}

/** @throws BrokerUnavailableError */
export async function explain(dependencies: AdminDependencies, topic: string, ref: MessageRef): Promise<Explanation> {
  const { broker } = dependencies;
  const { id, key } = typeof ref === 'object' ? ref : { id: ref, key: undefined };
  const config = await served(dependencies, () => broker.fleet.configOf(topic));
  const found = config && (await served(dependencies, () => find(broker, topic, config.partitions, ref)));
  await tellOwn(dependencies);
  const processes = await served(dependencies, () => liveProcesses(broker));
  const receivers = receiversOf(processes, broker.now()).filter((one) => one.topic === topic);
  const handlers = processes.filter(({ topics }) => topics.includes(topic)).map(({ session }) => session.session);
  const isKnownTopic = config !== undefined;
  const topics = isKnownTopic ? [] : await served(dependencies, () => broker.fleet.topics());
  const place: SoughtPlace = { topic, id, isKnownTopic, meantTopic: nearest(topic, topics) };
  const ended =
    (found ?? !config) ? undefined : await served(dependencies, () => findEnded(broker, topic, config.partitions, ref));
  if (ended) return explainEnded(dependencies, { topic, handlers, receivers, ...ended });
  if (!found) {
    const facts = { ...NOTHING_FOUND, topic, id, key, handlers, receivers: receivers.map(toReceiver) };
    return { cause: 'unknown-id', also: [], facts, advice: adviseOnUnknown(place) };
  }
  const { message, partition, storedId } = found;
  const owner = ownerOfMessage(message);
  const ownerProcess = processes.find(({ session }) => session.session === owner);
  const waiting =
    config.limits && owner !== undefined
      ? await served(dependencies, () => broker.deliveries.waitingForPermits(topic))
      : undefined;
  const evidence: Evidence = {
    ...place,
    partition: partition.index,
    message,
    handlers,
    receivers,
    owner,
    isOwnerAlive: ownerProcess !== undefined,
    ownerState: ownerProcess?.told.state,
    ownerWaitsFor: owner === undefined ? undefined : waiting?.get(owner),
    expiresAt: await served(dependencies, () => expiryOf(broker, found)),
  };
  const [cause, ...also] = causesOf(evidence);
  return {
    cause,
    also,
    facts: toFacts(evidence, storedId),
    advice: adviseOn(cause, evidence),
  };
}

async function find(
  broker: Broker,
  topic: string,
  partitions: number,
  ref: MessageRef,
): Promise<FoundMessage | undefined> {
  return findMessage(
    { topic, partitions, ref },
    (partition, id) => broker.messages.locate(partition, id),
    async (partition, storedId) => {
      const message = await broker.messages.explain(partition, storedId);
      return message && { partition, storedId, message };
    },
  );
}

interface EndedMessage {
  readonly partition: Partition;
  readonly message: StoredMessage;
}

/** Returns when a message expires, which it only does before its first delivery. Settings of its topic or handler are unknown here. */
async function expiryOf(broker: Broker, { partition, storedId, message }: FoundMessage): Promise<number | undefined> {
  const { state, at, deliveries } = message;
  if (state !== 'scheduled' || deliveries > 0) return undefined;
  const stored = await broker.messages.get(partition, storedId);
  const { expireAfter } = stored ? readablePart(partition.topic, undefined, stored.envelope).options : {};
  return expireAfter === undefined ? undefined : at + expireAfter;
}

async function findEnded(
  broker: Broker,
  topic: string,
  partitions: number,
  ref: MessageRef,
): Promise<EndedMessage | undefined> {
  return findMessage(
    { topic, partitions, ref },
    (partition, id) => broker.messages.locate(partition, id),
    async (partition, storedId) => {
      const message = await broker.messages.get(partition, storedId);
      return message?.state === 'finished' ? { partition, message } : undefined;
    },
  );
}

function explainEnded(
  { broker }: AdminDependencies,
  { topic, partition, message, handlers, receivers }: EndedMessage & Pick<Evidence, 'topic' | 'handlers' | 'receivers'>,
): Explanation {
  const { storedId, at, envelope, deliveries, attempts, failure, ending } = message;
  const publishedAt = publishedAtOf(envelope);
  const facts: ExplainFacts = {
    ...NOTHING_FOUND,
    topic,
    ...fromStoredId(storedId),
    partition: partition.index,
    at: toDate(broker.now(partition)),
    state: 'finished',
    finishedAt: toDate(at),
    outcome: ending?.outcome,
    publishedAt: publishedAt === undefined ? undefined : toDate(publishedAt),
    deliveries,
    attempts,
    failure,
    runner: ending?.process,
    handlers,
    receivers: receivers.map(toReceiver),
  };
  return { cause: 'finished', also: [], facts, advice: adviseOnFinished(at, ending?.outcome) };
}

const NOTHING_FOUND = {
  key: undefined,
  partition: undefined,
  at: undefined,
  state: undefined,
  dueAt: undefined,
  expiresAt: undefined,
  leaseEndsAt: undefined,
  diedAt: undefined,
  finishedAt: undefined,
  outcome: undefined,
  publishedAt: undefined,
  deliveries: undefined,
  attempts: undefined,
  crashes: undefined,
  failure: undefined,
  mark: undefined,
  runner: undefined,
  before: undefined,
  blockedBy: undefined,
  paused: undefined,
  heldUntil: undefined,
  limit: undefined,
  owner: undefined,
  ownerAlive: undefined,
  ownerConcurrency: undefined,
  ownerBusy: undefined,
} as const satisfies Partial<ExplainFacts>;

function toFacts(evidence: Evidence, storedId: string): ExplainFacts {
  const { topic, partition, message, handlers, receivers, owner, isOwnerAlive, ownerState, expiresAt } = evidence;
  const { state, at, now, publishedAt, deliveries, attempts, crashes, failure, mark, before, blockedBy, paused } =
    message;
  const atIf = (wanted: MessageLook['state']): Date | undefined => (state === wanted ? toDate(at) : undefined);
  return {
    topic,
    ...fromStoredId(storedId),
    partition,
    at: toDate(now),
    state,
    dueAt: atIf('scheduled') ?? (message.dueAt === undefined ? undefined : toDate(message.dueAt)),
    expiresAt: expiresAt === undefined ? undefined : toDate(expiresAt),
    leaseEndsAt: atIf('in-flight'),
    diedAt: atIf('dead'),
    finishedAt: undefined,
    outcome: undefined,
    publishedAt: publishedAt === undefined ? undefined : toDate(publishedAt),
    deliveries,
    attempts,
    crashes,
    failure,
    mark,
    runner: runnerOf(evidence),
    before,
    blockedBy: blockedBy === undefined ? undefined : fromStoredId(blockedBy).id,
    paused,
    heldUntil: message.heldUntil === undefined ? undefined : toDate(message.heldUntil),
    limit: message.keyLimit ?? evidence.ownerWaitsFor,
    handlers,
    receivers: receivers.map(toReceiver),
    owner,
    ownerAlive: owner === undefined ? undefined : isOwnerAlive,
    ownerConcurrency: ownerState?.concurrency,
    ownerBusy: ownerState?.busy,
  };
}
