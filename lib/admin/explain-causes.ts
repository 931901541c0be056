import type { Limits } from '../store/deliveries/limits.js';
import { epochOf, sessionOfOwner } from '../store/fleet/owner.js';
import type { MessageLook } from '../store/messages/message-look.js';
import type { ProcessState } from '../store/records/process-records.js';
import { enumerate } from '../checks/describe.js';
import type { FinishedOutcome } from '../errors/publishing.errors.js';
import type { SeenReceiver } from '../fleet/receivers.js';
import { counted, firstLine, quoted } from '../log.js';
import { fromStoredId } from '../messages/stored-id.js';
import { toDate } from '../time/date.js';

/**
 * Why a message has not run, or what became of it. If several of them hold, the first one in this order is the cause.
 *
 * @publicApi
 */
export const EXPLAIN_CAUSES = [
  /** There is no such message: it was handled, cancelled or removed, or was never published. */
  'unknown-id',
  /** It was handled, cancelled or delivered at most once, and the option `finished` keeps it. */
  'finished',
  /** It is a dead letter. */
  'dead',
  /** A process is handling it, and its lease has not ended. */
  'running',
  /** An attempt failed, and the backoff is not over. */
  'retrying',
  /** Its due time has not come. */
  'not-due',
  /** Its topic is paused. */
  'paused',
  /** No live process handles the topic, and nobody receives it. */
  'no-consumer',
  /** No process owns its partition; not if the topic is received and all of its receivers are busy, since then none has to own it. */
  'no-owner',
  /** The owner of its partition sends no heartbeats. */
  'owner-silent',
  /** Its topic is ordered, and another message of its key comes first. */
  'blocked-by-key',
  /**
   * The `rateLimit` of the topic or of its key is used up, or the topic is held: by `hold()`, or because a handler threw a
   * `RateLimitedError`.
   */
  'rate-limited',
  /** The `maxInFlight` of the topic or of its key is reached. */
  'max-in-flight',
  /** Permits of its topic's limits run out before the owner of its partition can call the handler. */
  'starved',
  /**
   * It is due, and other messages of its partition are delivered before it; or nothing keeps it waiting, and it is about to be delivered.
   */
  'behind',
] as const;

/**
 * Causes that `DelayQueueAdmin.explain()` can name.
 *
 * @publicApi
 */
export type ExplainCause = (typeof EXPLAIN_CAUSES)[number];

/** Causes for a message that was found and has not ended. */
type FoundCause = Exclude<ExplainCause, 'unknown-id' | 'finished'>;

/** Facts about the place where a message was looked for. */
export interface SoughtPlace {
  readonly topic: string;
  readonly id: string;
  /** Whether the topic was ever used. */
  readonly isKnownTopic: boolean;
  /** The topic that was probably meant, if this one was never used. */
  readonly meantTopic: string | undefined;
}

/** A message with everything that explains why it has not run. */
export interface Evidence extends SoughtPlace {
  readonly partition: number;
  readonly message: MessageLook;
  /** Live processes that handle the topic, or take part in it because someone receives there. */
  readonly handlers: readonly string[];
  /** Consumers that receive the topic, or did so recently. */
  readonly receivers: readonly SeenReceiver[];
  /** Process that is stored as the owner of the partition. */
  readonly owner: string | undefined;
  readonly isOwnerAlive: boolean;
  /** State that the owner last reported. */
  readonly ownerState: ProcessState | undefined;
  /** Limit of the topic that the owner waits for. */
  readonly ownerWaitsFor: keyof Limits | undefined;
  /** Time at which the message expires, in epoch milliseconds; `undefined` if it does not, or that is unknown. */
  readonly expiresAt: number | undefined;
}

/** Condition of a cause, and advice for it. */
interface Rule {
  readonly holds: (evidence: Evidence) => boolean;
  /** As sentences. */
  readonly advise: (evidence: Evidence) => string;
}

/**
 * Rules for a message that was found. Add a new cause at its place in the list above, and here; its facts come from `broker.explain()`.
 */
const RULES: Readonly<Record<FoundCause, Rule>> = {
  dead: {
    holds: ({ message }) => message.state === 'dead',
    advise: ({ message: { at, failure } }) =>
      `It is a dead letter since ${shown(at)}${failure ? ` (${failure.reason}, ${failure.name})` : ''}. Its story has the ` +
      `failures. Mend their cause, then requeue it.`,
  },
  running: {
    holds: ({ message }) => isRunning(message),
    advise: adviseRunning,
  },
  retrying: {
    holds: ({ message }) => waitsForTime(message) && message.attempts > 0,
    advise: ({ message: { at, attempts, failure } }) =>
      `Attempt ${attempts} has failed${failure ? ` (${failure.name}: ${firstLine(failure.message)})` : ''}, and the next one is due ` +
      `at ${shown(at)}. Run it now if that is too late.`,
  },
  'not-due': {
    holds: ({ message }) => waitsForTime(message),
    advise: ({ message: { at, deliveries } }) =>
      `${deliveries === 0 ? 'It is due' : 'It was delivered before, and is due again'} at ${shown(at)}. If that is not ` +
      `right, run it now, or reschedule it.`,
  },
  paused: {
    holds: ({ message }) => waits(message) && message.paused,
    advise: () => 'The topic is paused: nothing of it is handed out before it is resumed.',
  },
  'no-consumer': {
    holds: ({ message, handlers, receivers }) =>
      waits(message) && handlers.length === 0 && !receivers.some(({ state }) => state !== 'gone'),
    advise: adviseOnNobody,
  },
  'no-owner': {
    holds: (evidence) => waits(evidence.message) && evidence.owner === undefined && !isForReceivers(evidence),
    advise: ({ partition, handlers }) =>
      `No process owns partition ${partition}. ` +
      (handlers.length === 0
        ? 'One that handles the topic takes it.'
        : 'One of those that handle the topic takes it within seconds; if not, see their logs.'),
  },
  'owner-silent': {
    holds: (evidence) =>
      waits(evidence.message) && evidence.owner !== undefined && !evidence.isOwnerAlive && !isForReceivers(evidence),
    advise: ({ partition, owner, handlers }) =>
      `${owner}, which owns partition ${partition}, sends no heartbeats: it has ended, hangs, or cannot reach Redis. ` +
      (handlers.length === 0
        ? 'Start a process that handles the topic: it takes over.'
        : 'Another one takes over within some 15 s; if not, see the logs of those that handle the topic.'),
  },
  'blocked-by-key': {
    holds: ({ message }) => message.blockedBy !== undefined,
    advise: ({ message: { blockedBy = '' } }) =>
      `Message ${quoted(fromStoredId(blockedBy).id)} of the same key comes first: the topic is ordered. See what keeps that one.`,
  },
  'rate-limited': {
    holds: ({ message, ownerWaitsFor }) =>
      waits(message) &&
      (message.heldUntil !== undefined ||
        message.keyLimit === 'rate' ||
        (!waitsForTime(message) && ownerWaitsFor === 'rate')),
    advise: ({ message: { heldUntil, keyLimit } }) => {
      if (heldUntil !== undefined) {
        return `The topic is held, by an operator or since a rate limit was met: nothing of it begins before ${shown(heldUntil)}, or before it is resumed.`;
      }
      const whose = keyLimit === 'rate' ? 'its key' : 'the topic';
      return `As many deliveries of ${whose} have begun as 'rateLimit' allows: it begins as soon as more may. If that is too late, raise the limit.`;
    },
  },
  'max-in-flight': {
    holds: ({ message, ownerWaitsFor }) =>
      waits(message) && !waitsForTime(message) && (message.keyLimit === 'inFlight' || ownerWaitsFor === 'inFlight'),
    advise: ({ message: { keyLimit } }) => {
      const whose = keyLimit === 'inFlight' ? 'its key' : 'the topic';
      return `As many messages of ${whose} are in flight as 'maxInFlight' allows: it begins when one of them is done. If none ends, see what is in flight.`;
    },
  },
  starved: {
    holds: ({ topic, message, ownerState }) =>
      waits(message) && !waitsForTime(message) && (ownerState?.starved?.includes(topic) ?? false),
    advise: ({ topic, owner }) =>
      `What the limits of topic '${topic}' permit is over before ${owner} can call its handler: its event loop is busy for long, or Redis ` +
      `answers it late. Look for code that computes without a pause, and at the network; more processes share the load.`,
  },
  behind: {
    holds: ({ message }) => waits(message) && !waitsForTime(message) && (message.before ?? 0) > 0,
    advise: adviseBehind,
  },
};

/** Returns the causes that hold, in order; `behind` if nothing holds the message back: it is about to be claimed. */
export function causesOf(evidence: Evidence): readonly [FoundCause, ...FoundCause[]] {
  const causes = EXPLAIN_CAUSES.filter((cause) => cause !== 'unknown-id' && cause !== 'finished');
  const [first = 'behind', ...others] = causes.filter((cause) => RULES[cause].holds(evidence));
  return [first, ...others];
}

export function adviseOn(cause: FoundCause, evidence: Evidence): string {
  return RULES[cause].advise(evidence) + adviseOnExpiry(evidence);
}

export function adviseOnFinished(at: number, outcome: FinishedOutcome | undefined): string {
  const ended = {
    acked: 'was handled, and acknowledged',
    cancelled: 'was cancelled',
    delivered: 'was handed over, at most once',
  };
  return `It ${outcome === undefined ? 'ended' : ended[outcome]} at ${shown(at)}. It is kept with its story.`;
}

export function adviseOnUnknown({ topic, isKnownTopic, meantTopic }: SoughtPlace): string {
  if (isKnownTopic) {
    return (
      `There is no such message: it was handled, cancelled, drained or removed, or was never published. Compare id and key with ` +
      `those of the publish.`
    );
  }
  const meant = meantTopic === undefined ? 'See which topics there are.' : `Did you mean '${meantTopic}'?`;
  return `Nobody has ever published to topic '${topic}' under this prefix, or handled it. ${meant}`;
}

function adviseOnExpiry({ message: { now }, expiresAt }: Evidence): string {
  if (expiresAt === undefined) return '';
  if (expiresAt > now) return ` It expires at ${shown(expiresAt)}, if no process hands it out before.`;
  return ` It has expired at ${shown(expiresAt)}: the next process that hands messages of the topic out makes it a dead letter.`;
}

/** Returns the process that runs a message; `undefined` if it does not run, or its partition has another owner by now. */
export function runnerOf({ message: { state, token, owner }, owner: session }: Evidence): string | undefined {
  const isOwners = state === 'in-flight' && owner !== undefined && token.startsWith(`${epochOf(owner)}.`);
  return isOwners ? session : undefined;
}

/** Returns the process that is stored as the owner of a message's partition. */
export function ownerOfMessage({ owner }: MessageLook): string | undefined {
  return sessionOfOwner(owner);
}

/** Whether its lease has not ended, so that it may be running. */
function isRunning({ state, at, now }: MessageLook): boolean {
  return state === 'in-flight' && at > now;
}

/** Whether it is to be delivered, now or later; one whose lease has ended is to be delivered again. */
function waits(message: MessageLook): boolean {
  return message.state !== 'dead' && !isRunning(message);
}

function waitsForTime({ state, at, now }: MessageLook): boolean {
  return state === 'scheduled' && at > now;
}

/** Whether the topic is received and not handled, and no consumer waits for its messages now: then no process has to own its partitions. */
function isForReceivers({ receivers, handlers }: Evidence): boolean {
  const at = new Set(receivers.flatMap(({ sessions }) => sessions));
  const isReceived = receivers.some(({ state }) => state !== 'gone') && handlers.every((session) => at.has(session));
  return isReceived && receivers.every(({ waiting }) => waiting === 0);
}

function adviseOnNobody({ topic, receivers, partition, owner, isOwnerAlive }: Evidence): string {
  const last = receivers.toSorted((a, b) => b.seenAt - a.seenAt)[0];
  if (last) {
    return `Nobody receives the topic any more: ${quoted(last.consumer)} did so last, at ${shown(last.seenAt)}. Start the one who is to receive it.`;
  }
  const gone =
    owner === undefined || isOwnerAlive
      ? ''
      : ` ${owner}, which had partition ${partition} last, sends no heartbeats: it has ended, hangs, or cannot reach Redis.`;
  return (
    `No process handles the topic, and nobody receives it.${gone} Start a process that has @DelayedHandler('${topic}') in a provider of an ` +
    `imported module, or an option 'push' or 'forward' for it, or somebody who receives it and the gateway that they ask, on the same Redis ` +
    `with the same prefix; if it runs, see whether its intake was stopped.`
  );
}

function adviseRunning(evidence: Evidence): string {
  const { message, isOwnerAlive, receivers } = evidence;
  const runner = runnerOf(evidence);
  const end = shown(message.at);
  const afterwards = {
    cancelled: ' It was cancelled meanwhile: it is gone when its handler has ended.',
    replaced: ' It was replaced meanwhile: the new one waits until its handler has ended.',
    none: '',
  }[message.mark ?? 'none'];
  const holders = receivers
    .filter(({ holding, sessions }) => holding > 0 && (runner === undefined || sessions.includes(runner)))
    .map(({ consumer }) => quoted(consumer));
  if (holders.length > 0) {
    return (
      `${holders.length === 1 ? '' : 'One of '}${enumerate(holders)} has received it. It comes again at ${end}, when its lease ends, unless ` +
      `it is settled or its lease is extended before.${afterwards}`
    );
  }
  if (runner === undefined || !isOwnerAlive) {
    return (
      `A process handles it that does not own its partition any more, or has ended. If it has, the message comes again when its ` +
      `lease ends, at ${end}.${afterwards}`
    );
  }
  const since = message.dueAt === undefined ? '' : `, since ${shown(message.dueAt)} at the earliest`;
  return (
    `${runner} handles it${since}, and renews its lease until the handler has ended. If the handler hangs, a cancel aborts its signal, ` +
    `and a 'timeout' limits every run.${afterwards}`
  );
}

function adviseBehind(evidence: Evidence): string {
  const { partition, owner, ownerState, message, receivers } = evidence;
  const { before = 0 } = message;
  const place =
    before === 0
      ? `It is the next one of partition ${partition}.`
      : `${counted(before, 'message')} of partition ${partition} ${before === 1 ? 'comes' : 'come'} before it.`;
  const isReceived = receivers.some(
    ({ sessions, state }) => state !== 'gone' && (owner === undefined || sessions.includes(owner)),
  );
  return place + afterCrashes(message) + (isReceived ? loadOfReceivers(receivers) : loadOf(owner, ownerState));
}

function loadOfReceivers(receivers: readonly SeenReceiver[]): string {
  const waiting = receivers.filter((one) => one.waiting > 0).map(({ consumer }) => quoted(consumer));
  if (waiting.length > 0)
    return ` ${enumerate(waiting)} ${waiting.length === 1 ? 'waits' : 'wait'} to receive: it is given out at once.`;
  const busy = receivers.filter(({ holding }) => holding > 0);
  const at = busy.map(({ consumer, holding }) => `${quoted(consumer)} has ${counted(holding, 'message')}`);
  return (
    ` Nobody waits to receive now${at.length > 0 ? `: ${enumerate(at)}` : ''}. It is given to the next one who receives; if that takes too long, ` +
    `start more who do.`
  );
}

function loadOf(owner: string | undefined, state: Evidence['ownerState']): string {
  if (state === undefined || (state.waiting === 0 && state.busy < state.concurrency)) {
    return ' It is handled as soon as those are; if this stays, see whether the handlers of its owner end.';
  }
  const { busy, concurrency, waiting } = state;
  const calls = ` ${owner} has ${busy} of ${concurrency} handler calls under way`;
  const hung = ` If none of them ends, they hang: see what is in flight and since when, and give the handler a 'timeout'.`;
  if (busy >= concurrency)
    return `${calls}: raise 'concurrency', start more processes, or make the handler faster.${hung}`;
  return (
    `${calls}, and yet ${counted(waiting, 'partition')} ${waiting === 1 ? 'waits' : 'wait'}: as many calls of one handler run as may. ` +
    `Raise the 'concurrency' of that handler, start more processes, or make it faster.${hung}`
  );
}

function afterCrashes({ state, crashes }: MessageLook): string {
  const ended = state === 'in-flight' ? crashes + 1 : crashes;
  if (ended === 0) return '';
  if (ended === 1)
    return ' Its last delivery ended with its lease and not with an outcome: its process has died or stood still.';
  return (
    ` Its last ${ended} deliveries ended with their leases and not with an outcome, as if it killed its processes: it runs in ` +
    `small groups, then alone, and may have to wait for that.`
  );
}

function shown(time: number): string {
  return toDate(time).toISOString();
}
