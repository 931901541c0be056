import type { DoctorReport } from '../admin/doctor.js';
import type { PeekState } from '../admin/peek.js';
import { occurrenceId } from '../schedules/occurrence-ids.js';
import { toDate } from '../time/date.js';
import { VERSION } from '../version.js';
import { lookOver } from './overview.js';
import { shownMessage, shownSchedule } from './redaction.js';
import { Refusal } from '../http/refusal.js';
import type { ReadingRoute, RouteContext } from './route.js';

/** How many of the next runs of a schedule are shown. */
const NEXT_RUNS = 10;

/** Into how many parts an agenda is cut. */
const BUCKETS = 60;

/** Longest time that a look at all topics is kept for each of them and of their partitions, in milliseconds: a hundred times what one takes a slow Redis. */
const KEPT_A_PARTITION = 25;

/** The same for what the doctor asks. */
const KEPT_FOR_DOCTOR = 500;

/** The same for each dead letter or schedule that is looked at. */
const KEPT_A_RECORD = 2;

/** Longest time that a look is kept which costs Redis a few milliseconds, however long it takes here, in milliseconds. */
const KEPT_IF_CHEAP = 10_000;

const cheap = (): number => KEPT_IF_CHEAP;

/** What the pages show, by path. Looks that cost more than a call are shared by all who watch. */
export const READING_ROUTES: Readonly<Record<string, ReadingRoute>> = {
  // Without Redis too: who cannot open the page cannot read on it what is wrong with Redis.
  'api/session': async ({ user, traceUrl }) => ({ ...user, version: VERSION, traceUrl }),

  'api/clock': async (context) => ({ at: toDate(await redisTime(context)) }),

  'api/overview': async (context) =>
    context.looks.take(
      'overview',
      () => lookOver(context.queues, () => examined(context)),
      ({ topics }) =>
        KEPT_FOR_DOCTOR + KEPT_A_PARTITION * topics.reduce((sum, { partitions }) => sum + 1 + partitions, 0),
    ),

  'api/topic': async ({ queues: { admin }, looks }, query) => {
    const topic = query.text('topic');
    const lookAtTopic = async () => {
      const [stats, fleet] = await Promise.all([admin.stats(topic), admin.fleet({ topic, minutes: 10 })]);
      const handlers = fleet.processes.filter(({ topics }) => topics.some((one) => one.topic === topic));
      const minutes = fleet.topics.find((one) => one.topic === topic)?.minutes ?? [];
      return { at: fleet.at, ...stats, handlers: handlers.map(({ process }) => process), minutes };
    };
    return looks.take(`topic ${topic}`, lookAtTopic, cheap);
  },

  'api/agenda': async (context, query) => {
    const { queues, looks } = context;
    const [topic, buckets] = [query.text('topic'), query.optionalNumber('buckets') ?? BUCKETS];
    const span = query.optionalNumber('span');
    const range = span === undefined ? { from: query.number('from'), to: query.number('to') } : { span };
    const lookAtAgenda = async () => {
      const { from, to } = 'span' in range ? spanFrom(await redisTime(context), range.span, buckets) : range;
      return queues.admin.agenda(topic, { from, to, buckets });
    };
    return looks.take(`agenda ${JSON.stringify([topic, buckets, range])}`, lookAtAgenda, cheap);
  },

  'api/messages': async ({ queues: { admin }, looks, redact }, query) => {
    const [topic, state] = [query.text('topic'), query.text('state') as PeekState];
    const options = {
      limit: query.optionalNumber('limit') ?? 50,
      cursor: query.optionalText('cursor'),
      tag: query.optionalText('tag'),
      key: query.optionalText('key'),
    };
    const name = `messages ${JSON.stringify([topic, state, options])}`;
    // To find a key, Redis looks at up to 100,000 messages.
    const mostOf = options.key === undefined ? cheap : undefined;
    const { messages, cursor } = await looks.take(name, () => admin.peek(topic, state, options), mostOf);
    return { messages: messages.map((message) => shownMessage(message, redact)), cursor };
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

  'api/schedules': async ({ queues: { schedules }, looks, redact }) => {
    const all = await looks.take(
      'schedules',
      () => schedules.list(),
      ({ length }) => KEPT_A_RECORD * length,
    );
    return { schedules: all.map((schedule) => shownSchedule(schedule, redact)) };
  },

  'api/schedule': async ({ queues: { admin, schedules }, redact }, query) => {
    const id = query.text('id');
    const [schedule, next] = await Promise.all([schedules.get(id), schedules.next(id, NEXT_RUNS)]);
    if (!schedule) throw new Refusal(404, 'NOT_FOUND', `There is no schedule '${id}'.`);
    const { topic, key, last } = schedule;
    const lastRun = last && (await admin.get(topic, { id: occurrenceId(id, last.getTime()), key }));
    return { schedule: shownSchedule(schedule, redact), next, lastRun: lastRun && shownMessage(lastRun, redact) };
  },

  'api/fleet': async ({ queues: { admin }, looks }) => looks.take('fleet', () => admin.fleet({ minutes: 10 }), cheap),

  'api/doctor': examined,

  'api/audit': async ({ queues: { admin } }, query) =>
    admin.audit({ limit: query.optionalNumber('limit') ?? 50, cursor: query.optionalText('cursor') }),

  'api/operations': async ({ operations }) => ({ operations: operations.list() }),
};

async function examined({ queues: { admin }, looks }: RouteContext): Promise<DoctorReport> {
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
