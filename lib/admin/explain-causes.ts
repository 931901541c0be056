import {
  type Limits,
  type MessageLook,
  type ProcessState,
  epochOf,
  sessionOfOwner,
} from '../broker/broker.interface.js';
import type { FinishedOutcome } from '../errors/publishing.errors.js';
import { counted, firstLine, quoted } from '../log.js';
import { fromStoredId } from '../messages/stored-id.js';
import { toDate } from '../time/date.js';

/**
 * Why a message has not run, or what became of it. If several of them hold, the first one in this order is the cause.
 *
 * @publicApi
 */
export const EXPLAIN_CAUSES = [
  'unknown-id',
  'finished',
  'dead',
  'running',
  'retrying',
  'not-due',
  'paused',
  'no-consumer',
  'no-owner',
  'owner-silent',
  'blocked-by-key',
  'rate-limited',
  'max-in-flight',
  'starved',
  'behind',
] as const;

/**
 * What `DelayQueueAdmin.explain()` can answer.
 *
 * @publicApi
 */
export type ExplainCause = (typeof EXPLAIN_CAUSES)[number];

/** Of a message that was found and has not ended. */
type FoundCause = Exclude<ExplainCause, 'unknown-id' | 'finished'>;

/** What is known of the place where a message was looked for. */
export interface SoughtPlace {
  readonly topic: string;
  readonly id: string;
  /** Whether the topic was ever used. */
  readonly isKnownTopic: boolean;
  /** The topic that was probably meant, if this one was never used. */
  readonly meantTopic: string | undefined;
}

/** A message with all that says why it has not run. */
export interface Evidence extends SoughtPlace {
  readonly partition: number;
  readonly message: MessageLook;
  /** The processes that live and handle the topic. */
  readonly handlers: readonly string[];
  /** The process that is stored as the owner of the partition. */
  readonly owner: string | undefined;
  readonly isOwnerAlive: boolean;
  /** What it has said of itself. */
  readonly ownerState: ProcessState | undefined;
  /** The limit of the topic that it waits for. */
  readonly ownerWaitsFor: keyof Limits | undefined;
  /** When it expires, epoch milliseconds; `undefined` if it does not, or that is not known. */
  readonly expiresAt: number | undefined;
}

/** When a cause holds, and what to do then. */
interface Rule {
  readonly holds: (evidence: Evidence) => boolean;
  /** As sentences. */
  readonly advise: (evidence: Evidence) => string;
}

/**
 * The rules, for a message that was found. A cause that is new stands in the list above at its place, and here; its facts come from
 * `broker.explain()`.
 */
const RULES: Readonly<Record<FoundCause, Rule>> = {
  dead: {
    holds: ({ message }) => message.state === 'dead',
    advise: ({ topic, id, message: { at, failure } }) =>
      `It is a dead letter since ${shown(at)}${failure ? ` (${failure.reason}, ${failure.name})` : ''}. get() has the ` +
      `failures. Mend their cause, then requeue('${topic}', ${quoted(id)}).`,
  },
  running: {
    holds: ({ message }) => isRunning(message),
    advise: adviseRunning,
  },
  retrying: {
    holds: ({ message }) => waitsForTime(message) && message.attempts > 0,
    advise: ({ message: { at, attempts, failure } }) =>
      `Attempt ${attempts} has failed${failure ? ` (${failure.name}: ${firstLine(failure.message)})` : ''}, and the next one is due ` +
      `at ${shown(at)}. runNow() makes it due at once.`,
  },
  'not-due': {
    holds: ({ message }) => waitsForTime(message),
    advise: ({ message: { at, deliveries } }) =>
      `${deliveries === 0 ? 'It is due' : 'It was delivered before, and is due again'} at ${shown(at)}. runNow() makes it due at ` +
      `once, reschedule() moves it.`,
  },
  paused: {
    holds: ({ message }) => waits(message) && message.paused,
    advise: ({ topic }) => `The topic is paused: nothing of it is handed out before resume('${topic}').`,
  },
  'no-consumer': {
    holds: ({ message, handlers }) => waits(message) && handlers.length === 0,
    advise: ({ topic }) =>
      `No process handles the topic. Start one that has @DelayedHandler('${topic}') in a provider of an imported module, on the ` +
      `same Redis with the same prefix; if it runs, see whether its intake was stopped.`,
  },
  'no-owner': {
    holds: ({ message, owner }) => waits(message) && owner === undefined,
    advise: ({ partition, handlers }) =>
      `No process owns partition ${partition}. ` +
      (handlers.length === 0
        ? 'One that handles the topic takes it.'
        : 'One of those that handle the topic takes it within seconds; if not, see their logs.'),
  },
  'owner-silent': {
    holds: ({ message, owner, isOwnerAlive }) => waits(message) && owner !== undefined && !isOwnerAlive,
    advise: ({ partition, owner, handlers }) =>
      `${owner}, which owns partition ${partition}, sends no heartbeats: it has ended, hangs, or cannot reach Redis. ` +
      (handlers.length === 0
        ? 'Start a process that handles the topic: it takes over.'
        : 'Another one takes over within some 15 s; if not, see the logs of those that handle the topic.'),
  },
  'blocked-by-key': {
    holds: ({ message }) => message.blockedBy !== undefined,
    advise: ({ topic, message: { blockedBy = '' } }) =>
      `Message ${quoted(fromStoredId(blockedBy).id)} of the same key comes first: the topic is ordered. See ` +
      `explain('${topic}', ${quoted(fromStoredId(blockedBy).id)}).`,
  },
  'rate-limited': {
    holds: ({ message, ownerWaitsFor }) =>
      waits(message) &&
      (message.heldUntil !== undefined ||
        message.keyLimit === 'rate' ||
        (!waitsForTime(message) && ownerWaitsFor === 'rate')),
    advise: ({ topic, message: { heldUntil, keyLimit } }) => {
      if (heldUntil !== undefined) {
        return `The topic is held, by hold() or since a handler has met a rate limit: nothing of it begins before ${shown(heldUntil)}, or resume('${topic}').`;
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
      return `As many messages of ${whose} are in flight as 'maxInFlight' allows: it begins when one of them is done. If none ends, see which handlers run.`;
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

/** The causes that hold, in their order. What nothing keeps is about to be claimed: then there are none before it. */
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
  return `It ${outcome === undefined ? 'ended' : ended[outcome]} at ${shown(at)}. get() has its story.`;
}

export function adviseOnUnknown({ topic, isKnownTopic, meantTopic }: SoughtPlace): string {
  if (isKnownTopic) {
    return (
      `There is no such message: it was handled, cancelled, drained or removed, or was never published. Compare id and key with ` +
      `those of the publish.`
    );
  }
  const meant = meantTopic === undefined ? 'See topics().' : `Did you mean '${meantTopic}'?`;
  return `Nobody has ever published to topic '${topic}' under this prefix, or handled it. ${meant}`;
}

function adviseOnExpiry({ message: { now }, expiresAt }: Evidence): string {
  if (expiresAt === undefined) return '';
  if (expiresAt > now) return ` It expires at ${shown(expiresAt)}, if no process hands it out before.`;
  return ` It has expired at ${shown(expiresAt)}: the next process that hands messages of the topic out makes it a dead letter.`;
}

/** The process that runs a message; `undefined` if it does not run, or its partition has another owner by now. */
export function runnerOf({ message: { state, token, owner }, owner: session }: Evidence): string | undefined {
  const isOwners = state === 'in-flight' && owner !== undefined && token.startsWith(`${epochOf(owner)}.`);
  return isOwners ? session : undefined;
}

/** The process that is stored as the owner of the partition of a message. */
export function ownerOfMessage({ owner }: MessageLook): string | undefined {
  return sessionOfOwner(owner);
}

/** Its lease has not ended, so it may be running. */
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

function adviseRunning(evidence: Evidence): string {
  const { message, isOwnerAlive } = evidence;
  const runner = runnerOf(evidence);
  const end = shown(message.at);
  const afterwards = {
    cancelled: ' It was cancelled meanwhile: it is gone when its handler has ended.',
    replaced: ' It was replaced meanwhile: the new one waits until its handler has ended.',
    none: '',
  }[message.mark ?? 'none'];
  if (runner === undefined || !isOwnerAlive) {
    return (
      `A process handles it that does not own its partition any more, or has ended. If it has, the message comes again when its ` +
      `lease ends, at ${end}.${afterwards}`
    );
  }
  return (
    `${runner} handles it, and renews its lease until the handler has ended. If the handler hangs, cancel() aborts its signal, ` +
    `and a 'timeout' limits every run.${afterwards}`
  );
}

function adviseBehind({ partition, owner, ownerState, message }: Evidence): string {
  const { before = 0 } = message;
  const place =
    before === 0
      ? `It is the next one of partition ${partition}.`
      : `${counted(before, 'message')} of partition ${partition} ${before === 1 ? 'comes' : 'come'} before it.`;
  return place + afterCrashes(message) + loadOf(owner, ownerState);
}

function loadOf(owner: string | undefined, state: Evidence['ownerState']): string {
  if (state === undefined || (state.waiting === 0 && state.busy < state.concurrency)) {
    return ' It is handled as soon as those are; if this stays, see whether the handlers of its owner end.';
  }
  const { busy, concurrency, waiting } = state;
  const calls = ` ${owner} has ${busy} of ${concurrency} handler calls under way`;
  if (busy >= concurrency) return `${calls}: raise 'concurrency', start more processes, or make the handler faster.`;
  return (
    `${calls}, and yet ${counted(waiting, 'partition')} ${waiting === 1 ? 'waits' : 'wait'}: as many calls of one handler run as may. ` +
    `Raise the 'concurrency' of that handler, start more processes, or make it faster.`
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
