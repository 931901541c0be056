import type { DoctorReport } from '../admin/doctor.js';
import type { MessageDetails } from '../admin/message-details.js';
import type { PeekState } from '../admin/peek.js';
import type { ViewedMessages } from '../admin/viewed-messages.js';
import { toDate } from '../time/date.js';
import { VERSION } from '../version.js';
import { assertMayFilterBy, queriedFilter } from './filters.js';
import { lookOver } from './overview.js';
import { type ShownMessage, shownMessage, shownSchedule } from './redaction.js';
import { type ReadingRoute, type RouteContext, noSuchTopic, scheduleOf } from './route.js';
import { listSchedules } from './schedule-list.js';
import { cheap } from './shared-looks.js';
import { visibleAgenda, visibleEntries, visibleFleet, visibleOverview } from './visible.js';

/** How many of the next runs of a schedule are shown. */
const NEXT_RUNS = 10;

/** Into how many parts an agenda is cut. */
const BUCKETS = 60;

/** Longest time that a look at all topics is kept for each of them and of their partitions, in milliseconds: two hundred times what one takes a slow Redis. */
const KEPT_A_PARTITION = 50;

/** The same for what the doctor asks. */
const KEPT_FOR_DOCTOR = 1000;

/** The same for each dead letter that is looked at. */
const KEPT_A_RECORD = 4;

/** For a list of messages, kept no longer than any look: whoever goes from it to one that is gone by then does not find what they went for. */
const briefly = (): number => 0;

/** The routes that answer while Redis is away: so the page opens, and says what is wrong with Redis. */
export const ANSWER_WITHOUT_REDIS: ReadonlySet<string> = new Set(['api/session', 'api/doctor', 'api/operations']);

/** What the pages show, by path. Looks that cost more than a call are shared by all who watch. */
export const READING_ROUTES: Readonly<Record<string, ReadingRoute>> = {
  'api/session': async ({ viewer, redact, traceUrl }) => {
    return { ...viewer.rights, redacts: redact !== undefined, version: VERSION, traceUrl };
  },

  'api/clock': async (context) => ({ at: toDate(await redisTime(context)) }),

  'api/overview': async (context) => {
    const overview = await context.looks.take(
      'overview',
      (looks) => lookOver(context.queues, () => examined({ ...context, looks })),
      ({ topics }) =>
        KEPT_FOR_DOCTOR + KEPT_A_PARTITION * topics.reduce((sum, { partitions }) => sum + 1 + partitions, 0),
    );
    return visibleOverview(overview, context.viewer);
  },

  'api/topic': async ({ queues: { admin }, looks }, query) => {
    const topic = query.text('topic');
    const lookAtTopic = async () => {
      const [stats, fleet] = await Promise.all([admin.stats(topic), admin.fleet({ topic, minutes: 10 })]);
      if (stats.partitions.length + stats.unreachable.length === 0) throw noSuchTopic();
      const handlers = fleet.processes.filter(({ topics }) => topics.some((one) => one.topic === topic));
      const minutes = fleet.topics.find((one) => one.topic === topic)?.minutes ?? [];
      return { at: fleet.at, ...stats, handlers: handlers.map(({ process }) => process), minutes };
    };
    return looks.take(`topic ${topic}`, lookAtTopic, cheap);
  },

  'api/history': async ({ queues: { admin }, looks }, query) => {
    const topic = query.text('topic');
    return { spans: await looks.take(`history ${topic}`, () => admin.history(topic), cheap) };
  },

  'api/agenda': async (context, query) => {
    const { queues, looks, viewer } = context;
    const [topic, buckets] = [query.optionalText('topic'), query.optionalNumber('buckets') ?? BUCKETS];
    const span = query.optionalNumber('span');
    const range = span === undefined ? { from: query.number('from'), to: query.number('to') } : { span };
    const lookAtAgenda = async () => {
      const { from, to } = 'span' in range ? spanFrom(await redisTime(context), range.span, buckets) : range;
      return queues.admin.agenda(topic, { from, to, buckets });
    };
    const name = `agenda ${JSON.stringify([topic, buckets, range])}`;
    // Of all topics it costs a call for each of their partitions.
    const agenda = await looks.take(name, lookAtAgenda, topic === undefined ? undefined : cheap);
    return visibleAgenda(agenda, viewer);
  },

  'api/messages': async (context, query) => {
    const [topic, state] = [query.text('topic'), query.text('state') as PeekState];
    const options = {
      limit: query.optionalNumber('limit') ?? 50,
      cursor: query.optionalText('cursor'),
      tag: query.optionalText('tag'),
    };
    const name = `messages ${JSON.stringify([topic, state, options, seesPayloads(context)])}`;
    return context.looks.take(name, () => viewed(context).peek(topic, state, options), briefly);
  },

  'api/search': async (context, query) => {
    const [topic, filter, state] = [query.text('topic'), queriedFilter(query), query.optionalText('state')];
    assertMayFilterBy(context, filter);
    const options = {
      cursor: query.optionalText('cursor'),
      ...(state !== undefined && { states: [state as MessageDetails['state']] }),
    };
    const name = `search ${JSON.stringify([topic, filter, options, seesPayloads(context)])}`;
    return context.looks.take(name, () => viewed(context).search(topic, filter, options), cheap);
  },

  'api/message': async ({ queues: { admin }, redact }, query) => {
    const [topic, name] = [query.text('topic'), query.message()];
    const [message, explanation] = await Promise.all([admin.get(topic, name), admin.explain(topic, name)]);
    return { message: message && shownMessage(message, redact), explanation };
  },

  'api/dead': async ({ queues: { admin }, looks }, query) => {
    const topic = query.text('topic');
    return looks.take(
      `dead ${topic}`,
      () => admin.deadLetterGroups(topic),
      ({ total }) => KEPT_A_RECORD * total,
    );
  },

  'api/schedules': listSchedules,

  'api/schedule': async (context, query) => {
    const { queues, redact } = context;
    const schedule = await scheduleOf(context, query);
    const next = await queues.schedules.next(schedule.id, NEXT_RUNS);
    const [lastRun] = await queues.schedules.lastRuns([schedule]);
    return { schedule: shownSchedule(schedule, redact), next, lastRun };
  },

  'api/fleet': async ({ queues: { admin }, looks, viewer }) =>
    visibleFleet(await looks.take('fleet', () => admin.fleet({ minutes: 10 }), cheap), viewer),

  'api/doctor': async (context) => {
    context.viewer.assertSeesAllTopics();
    return examined(context);
  },

  'api/audit': async ({ queues: { admin }, viewer }, query) => {
    const options = { limit: query.optionalNumber('limit') ?? 50, cursor: query.optionalText('cursor') };
    const { entries, cursor } = await admin.audit(options);
    return { entries: visibleEntries(entries, viewer), cursor };
  },

  'api/operations': async ({ operations, viewer }) => ({ operations: operations.list(viewer) }),
};

/** The messages as the viewer gets to see them. */
function viewed({ queues: { admin }, redact }: RouteContext): ViewedMessages<ShownMessage> {
  return admin.viewed((message) => shownMessage(message, redact));
}

/** What two viewers have to have in common to share a look at messages. */
function seesPayloads({ viewer }: RouteContext): boolean {
  return viewer.rights.payloads;
}

async function examined({ queues: { admin }, looks }: Pick<RouteContext, 'queues' | 'looks'>): Promise<DoctorReport> {
  return looks.take('doctor', () => admin.doctor(), cheap);
}

/** The time by which everything is due, epoch milliseconds; by this process's clock and by how far that was off a moment ago. */
async function redisTime({ queues: { admin }, looks, clock }: RouteContext): Promise<number> {
  const lookAtClock = async () => (await admin.fleet({ minutes: 0 })).at.getTime() - clock.now();
  return clock.now() + (await looks.take('clock', lookAtClock, cheap));
}

/** The time that begins now, from a whole bucket on, so that bars move by their own width. */
function spanFrom(now: number, span: number, buckets: number): { from: number; to: number } {
  const bucket = span / buckets;
  const from = Math.floor(Math.floor(now / bucket) * bucket);
  return { from, to: from + span };
}
