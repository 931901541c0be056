import type { DoctorReport, Explanation, MessageDetails, PeekState } from '../admin/index.js';
import type { LastRun } from '../schedules/last-runs.js';
import type { Schedule } from '../schedules/schedule.interface.js';
import { toDate } from '../time/date.js';
import { VERSION } from '../version.js';
import { lookOver } from './problems.js';
import { shownMessage, shownSchedule } from './redaction.js';
import { type RouteContext, type Routes, noSuchTopic, route } from './route.js';
import { listSchedules } from './schedule-list.js';
import {
  allTopics,
  cut,
  itsMessages,
  itsOperations,
  itsSchedule,
  itsSchedules,
  itsSearch,
  itsTopic,
  itsTopicIfAny,
  noTopic,
  ownRights,
} from './sees.js';
import { cheap } from './shared-looks.js';
import { visibleAgenda, visibleAudit, visibleFleet, visibleOverview } from './visible.js';

/** Number of the next runs of a schedule that are shown. */
const NEXT_RUNS = 10;

/** Number of parts that an agenda is cut into. */
const BUCKETS = 60;

/** Longest time to keep a look at all topics, per topic and per partition, in milliseconds: two hundred times what one takes a slow Redis. */
const KEPT_A_PARTITION = 50;

/** The same for the calls of the doctor. */
const KEPT_FOR_DOCTOR = 1000;

/** The same for each dead letter that is looked at. */
const KEPT_A_RECORD = 4;

/** For a list of messages, kept no longer than any look: a user who follows it to a message that is gone by then finds nothing. */
const briefly = (): number => 0;

/** The routes that answer while Redis is away: so the page opens, and says what is wrong with Redis. */
export const ANSWER_WITHOUT_REDIS: ReadonlySet<string> = new Set(['api/session', 'api/doctor', 'api/operations']);

/** Looks of the pages, by path. All viewers share those that cost more than one call. */
export const READING_ROUTES: Routes = {
  'api/session': route('look', ownRights, async ({ traceUrl }, _, rights) => ({
    ...rights,
    version: VERSION,
    traceUrl,
  })),

  'api/clock': route('look', noTopic, async (context) => ({ at: toDate(await redisTime(context)) })),

  'api/overview': route('look', cut(noTopic, visibleOverview), async (context) =>
    context.looks.take(
      'overview',
      (looks) => lookOver(context.queues, () => examined({ ...context, looks })),
      ({ topics }) =>
        KEPT_FOR_DOCTOR + KEPT_A_PARTITION * topics.reduce((sum, { partitions }) => sum + 1 + partitions, 0),
    ),
  ),

  'api/topic': route('look', itsTopic, async ({ queues: { admin }, looks }, _, { topic }) => {
    const lookAtTopic = async () => {
      const [stats, fleet] = await Promise.all([admin.stats(topic), admin.fleet({ topic, minutes: 10 })]);
      if (stats.partitions.length + stats.unreachable.length === 0) throw noSuchTopic();
      const handlers = fleet.processes.filter(({ topics }) => topics.some((one) => one.topic === topic));
      const minutes = fleet.topics.find((one) => one.topic === topic)?.minutes ?? [];
      return { at: fleet.at, ...stats, handlers: handlers.map(({ process }) => process), minutes };
    };
    return looks.take(`topic ${topic}`, lookAtTopic, cheap);
  }),

  'api/history': route('look', itsTopic, async ({ queues: { admin }, looks }, _, { topic }) => ({
    spans: await looks.take(`history ${topic}`, () => admin.history(topic), cheap),
  })),

  'api/agenda': route('look', cut(itsTopicIfAny, visibleAgenda), async (context, query, { topic }) => {
    const buckets = query.optionalNumber('buckets') ?? BUCKETS;
    const span = query.optionalNumber('span');
    const range = span === undefined ? { from: query.number('from'), to: query.number('to') } : { span };
    const lookAtAgenda = async () => {
      const { from, to } = 'span' in range ? spanFrom(await redisTime(context), range.span, buckets) : range;
      return context.queues.admin.agenda(topic, { from, to, buckets });
    };
    const name = `agenda ${JSON.stringify([topic, buckets, range])}`;
    // For all topics it costs a call for each of their partitions.
    return context.looks.take(name, lookAtAgenda, topic === undefined ? undefined : cheap);
  }),

  'api/messages': route('look', itsMessages, async ({ looks }, query, { topic, messages, payloads }) => {
    const state = query.text('state') as PeekState;
    const options = {
      limit: query.optionalNumber('limit') ?? 50,
      cursor: query.optionalText('cursor'),
      tag: query.optionalText('tag'),
    };
    const name = `messages ${JSON.stringify([topic, state, options, payloads])}`;
    return looks.take(name, () => messages.peek(topic, state, options), briefly);
  }),

  'api/search': route('look', itsSearch, async ({ looks }, query, { topic, messages, payloads, filter }) => {
    const state = query.optionalText('state');
    const options = {
      cursor: query.optionalText('cursor'),
      ...(state !== undefined && { states: [state as MessageDetails['state']] }),
    };
    const name = `search ${JSON.stringify([topic, filter, options, payloads])}`;
    return looks.take(name, () => messages.search(topic, filter, options), cheap);
  }),

  'api/message': route(
    'look',
    cut(itsTopic, ({ message, explanation }: ExplainedMessage, _viewer, redact) => ({
      message: message && shownMessage(message, redact),
      explanation,
    })),
    async ({ queues: { admin } }, query, { topic }) => {
      const name = query.message();
      const [message, explanation] = await Promise.all([admin.get(topic, name), admin.explain(topic, name)]);
      return { message, explanation };
    },
  ),

  'api/dead': route('look', itsTopic, async ({ queues: { admin }, looks }, _, { topic }) =>
    looks.take(
      `dead ${topic}`,
      () => admin.deadLetterGroups(topic),
      ({ total }) => KEPT_A_RECORD * total,
    ),
  ),

  'api/schedules': route('look', itsSchedules, listSchedules),

  'api/schedule': route(
    'look',
    cut(itsSchedule, ({ schedule, ...runs }: ScheduleAndRuns, _viewer, redact) => ({
      schedule: shownSchedule(schedule, redact),
      ...runs,
    })),
    async ({ queues: { schedules } }, _, schedule) => {
      const next = await schedules.next(schedule.id, NEXT_RUNS);
      const [lastRun] = await schedules.lastRuns([schedule]);
      return { schedule, next, lastRun };
    },
  ),

  'api/fleet': route('look', cut(noTopic, visibleFleet), async ({ queues: { admin }, looks }) =>
    looks.take('fleet', () => admin.fleet({ minutes: 10 }), cheap),
  ),

  'api/doctor': route('look', allTopics, examined),

  'api/audit': route('look', cut(noTopic, visibleAudit), async ({ queues: { admin } }, query) =>
    admin.audit({ limit: query.optionalNumber('limit') ?? 50, cursor: query.optionalText('cursor') }),
  ),

  'api/operations': route('look', itsOperations, async (_context, _query, operations) => ({ operations })),
};

interface ExplainedMessage {
  readonly message: MessageDetails | undefined;
  readonly explanation: Explanation;
}

interface ScheduleAndRuns {
  readonly schedule: Schedule;
  readonly next: readonly Date[];
  readonly lastRun: LastRun | undefined;
}

async function examined({ queues: { admin }, looks }: Pick<RouteContext, 'queues' | 'looks'>): Promise<DoctorReport> {
  return looks.take('doctor', () => admin.doctor(), cheap);
}

/** Returns the time by which everything is due, in epoch milliseconds: this process's clock, corrected by its recent offset. */
async function redisTime({ queues: { admin }, looks, clock }: RouteContext): Promise<number> {
  const lookAtClock = async () => (await admin.fleet({ minutes: 0 })).at.getTime() - clock.now();
  return clock.now() + (await looks.take('clock', lookAtClock, cheap));
}

/** Returns a range that begins now, at a whole bucket, so that bars move by their own width. */
function spanFrom(now: number, span: number, buckets: number): { from: number; to: number } {
  const bucket = span / buckets;
  const from = Math.floor(Math.floor(now / bucket) * bucket);
  return { from, to: from + span };
}
