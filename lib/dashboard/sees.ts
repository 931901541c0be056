import type { BulkResult, DeadLetterFilter, MessageDetails, MessageFilter } from '../admin/index.js';
import type { ViewedMessages } from '../admin/viewed-messages.js';
import { isPlainObject } from '../checks/kinds.js';
import { Refusal } from '../http/refusal.js';
import type { Schedule } from '../schedules/schedule.interface.js';
import type { Operation } from './operations.js';
import { type ShownMessage, type ShownSchedule, shownMessage, shownSchedule } from './redaction.js';
import { type AskedContext, type Cuts, type Input, type Sees, noSuchTopic, required } from './route.js';
import { cheap } from './shared-looks.js';
import type { Rights } from './viewer.js';

// Topics and payloads that a viewer gets: each route names one of these, and gets its subject from there.

/** For routes that are about no topic. */
export const noTopic: Sees<undefined> = { find: () => undefined };

/** For routes that are about all topics, and whose answers are not cut. */
export const allTopics: Sees<void> = { find: ({ viewer }) => viewer.assertSeesAllTopics() };

/** @param show reduces an answer, which is the same for all viewers, to what one of them sees */
export function cut<S, A, R>(sees: Sees<S>, show: Cuts<S, A, R>['show']): Cuts<S, A, R> {
  return { ...sees, show };
}

/** Answer of a change: a dry run has some of the messages. */
type Changed = object & Partial<Pick<BulkResult, 'examples'>>;

export function withExamples<S>(sees: Sees<S>): Cuts<S, Changed, object> {
  return cut(sees, ({ examples, ...answer }, _viewer, redact) => ({
    ...answer,
    examples: examples?.map((message) => shownMessage(message, redact)),
  }));
}

/** The rights of the viewer. */
export const ownRights: Sees<Rights & { readonly redacts: boolean }> = {
  find: ({ viewer, redact }) => ({ ...viewer.rights, redacts: redact !== undefined }),
};

/** A subject within one topic. */
export interface SeenTopic {
  readonly topic: string;
}

/** The topic that the request names. */
export const itsTopic: Sees<SeenTopic> = {
  find: async (asked, { topic }) => seenTopic(asked, required('topic', topic)),
};

export const itsTopicIfAny: Sees<Partial<SeenTopic>> = {
  find: async (asked, { topic }) => (topic === undefined ? {} : seenTopic(asked, topic)),
};

/** Messages of a topic as the viewer gets to see them, in searches too. */
interface SeenMessages extends SeenTopic {
  readonly messages: ViewedMessages<ShownMessage>;
  /** Right to see payloads; only viewers who agree in it share a look at the messages. */
  readonly payloads: boolean;
}

export const itsMessages: Sees<SeenMessages> = {
  find: async (asked, given) => {
    const { queues, redact, viewer } = asked;
    const { topic } = await itsTopic.find(asked, given);
    const messages = queues.admin.viewed((message) => shownMessage(message, redact));
    return { topic, messages, payloads: viewer.rights.payloads };
  },
};

/** The same, with the filter of the request. */
export const itsSearch: Sees<SeenMessages & { readonly filter: MessageFilter }> = {
  find: async (asked, given) => {
    const seen = await itsMessages.find(asked, given);
    const filter = queriedFilter(given);
    assertMayFilterBy(asked, filter);
    return { ...seen, filter };
  },
};

/** The payload of a message of its topic, to be replaced. */
export const itsPayload: Sees<SeenTopic & { readonly isEditable: (message: MessageDetails) => boolean }> = {
  find: async (asked, given) => {
    const { topic } = await itsTopic.find(asked, given);
    asked.viewer.assertSeesPayloads();
    return { topic, isEditable: (message) => shownMessage(message, asked.redact).editable };
  },
};

/** Messages of its topic that are to be changed, by its filter, which the admin checks. */
export const itsFilter: Sees<SeenTopic & { readonly filter: MessageFilter }> = {
  find: async (asked, given) => {
    const [{ topic }, filter] = [await itsTopic.find(asked, given), givenFilter(given)];
    assertMayActBy(asked, filter);
    return { topic, filter };
  },
};

/** The same for dead letters. Their filter by text searches their errors, which are shown. */
export const itsDeadFilter: Sees<SeenTopic & { readonly filter: DeadLetterFilter }> = {
  find: async (asked, given) => ({ ...(await itsTopic.find(asked, given)), filter: givenFilter(given) }),
};

/** The schedule that the request names. */
export const itsSchedule: Sees<Schedule> = {
  find: async ({ queues: { schedules }, viewer }, given) => {
    const id = given.text('id');
    const topic = await schedules.topicOf(id);
    const schedule = topic !== undefined && viewer.sees(topic) ? await schedules.get(id) : undefined;
    if (!schedule) throw new Refusal(404, 'NOT_FOUND', `There is no schedule '${id}'.`);
    return schedule;
  },
};

/** Selects the schedules that are listed, and the visible part of each. */
export interface SeenSchedules {
  readonly sees: (topic: string) => boolean;
  readonly shown: (schedule: Schedule) => ShownSchedule;
}

export const itsSchedules: Sees<SeenSchedules> = {
  find: ({ viewer, redact }) => ({
    sees: (topic) => viewer.sees(topic),
    shown: (schedule) => shownSchedule(schedule, redact),
  }),
};

/** The operation that the request names. */
export const itsOperation: Sees<Operation> = {
  find: ({ operations, viewer }, given) => operations.get(given.text('id'), viewer),
};

export const itsOperations: Sees<readonly Operation[]> = {
  find: ({ operations, viewer }) => operations.list(viewer),
};

/**
 * Refuses a topic that was never used to viewers who see only some: an answer about it could name the one that was probably meant.
 *
 * @throws Refusal unless the viewer sees it
 */
async function seenTopic({ viewer, looks, queues }: AskedContext, topic: string): Promise<SeenTopic> {
  if (viewer.seesAllTopics) return { topic };
  viewer.assertSees(topic);
  const topics = await looks.take('topics', () => queues.admin.topics(), cheap);
  if (!topics.includes(topic)) throw noSuchTopic();
  return { topic };
}

/**
 * Returns the filter of a body.
 *
 * @throws Refusal if it is not a filter, or selects one message, which is named elsewhere
 */
function givenFilter(body: Input): object {
  const filter = body.value('filter');
  if (isPlainObject(filter) && !('id' in filter)) return filter;
  throw new Refusal(400, 'INVALID_ARGUMENT', "'filter' must be an object with what the messages have in common.");
}

/** Returns the filter that the parameters of a URL stand for. */
function queriedFilter(query: Input): MessageFilter {
  const path = query.optionalText('field');
  return {
    tag: query.optionalText('tag'),
    key: query.optionalText('key'),
    text: query.optionalText('text'),
    ...(path !== undefined && { field: { path, value: query.text('value') } }),
    from: query.optionalNumber('from'),
    to: query.optionalNumber('to'),
  };
}

/** @throws Refusal if a filter looks into payloads that the viewer is not allowed to see: trial would reveal them */
function assertMayFilterBy({ viewer }: Pick<AskedContext, 'viewer'>, filter: object): void {
  if (looksIntoPayloads(filter)) viewer.assertSeesPayloads();
}

/** @throws Refusal also if `redact` hides parts of payloads: the messages that would be changed, and their number, reveal them by trial */
function assertMayActBy({ viewer, redact }: Pick<AskedContext, 'viewer' | 'redact'>, filter: object): void {
  assertMayFilterBy({ viewer }, filter);
  if (!redact || !looksIntoPayloads(filter)) return;
  throw new Refusal(
    403,
    'FORBIDDEN',
    "The option 'redact' hides parts of payloads, so what is to be changed cannot be chosen by text or field. Choose it by tag, key or time.",
  );
}

function looksIntoPayloads(filter: object): boolean {
  const { text, field } = filter as MessageFilter;
  return text !== undefined || field !== undefined;
}
