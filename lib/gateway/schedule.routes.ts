import { describe } from '../checks/describe.js';
import { InvalidArgumentError } from '../errors/options.errors.js';
import type { Refusal } from '../http/refusal.js';
import { OPERATION, type Repeatable } from '../messages/operation.js';
import type { DelayQueueSchedules, Schedule } from '../index.js';
import { refusal, toProblem } from './problem.js';
import { ScheduleBody, TopicQuery } from './request-schemas.js';
import { type Answer, type Asked, type Call, type Route, route } from './route.js';

const SCHEDULE = { 200: { description: 'The schedule as it is stored.', of: ['Schedule'] } } as const;

export const SCHEDULE_ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    path: '/v1/schedules',
    name: 'listSchedules',
    summary: 'List the schedules of the topics that you may read',
    right: 'read',
    query: TopicQuery,
    answers: { 200: { description: 'In the order of their ids, and which cannot be told now.', of: ['Schedules'] } },
    problems: [],
    async sees({ queues, query: { topic }, may, served }) {
      if (topic !== undefined) await served(topic);
      const { schedules, failed } = await queues.schedules.listKnown();
      const read = new Set<string>();
      for (const one of new Set([...schedules, ...failed].map((of) => of.topic))) {
        if (topic === undefined ? await may(one) : one === topic) read.add(one);
      }
      return {
        schedules: schedules.filter((one) => read.has(one.topic)),
        failed: failed.filter((one) => read.has(one.topic)),
      };
    },
    async run({ query, seen: { schedules, failed } }) {
      const [only] = failed;
      if (query.topic !== undefined && only) throw only.error;
      const problems = failed.map(({ topic, ids, error }) => ({ topic, ids, error: toProblem(error) }));
      return { status: 200, content: { schedules, failed: problems } };
    },
  }),
  route({
    method: 'GET',
    path: '/v1/schedules/{id}',
    name: 'getSchedule',
    summary: 'Look at a schedule',
    right: 'read',
    answers: SCHEDULE,
    problems: ['SCHEDULE_NOT_FOUND'],
    sees: itsSchedule,
    run: async ({ seen }) => ({ status: 200, content: seen }),
  }),
  route({
    method: 'PUT',
    path: '/v1/schedules/{id}',
    name: 'putSchedule',
    summary: 'Store a schedule, or change it',
    right: 'operate',
    body: ScheduleBody,
    answers: SCHEDULE,
    problems: ['INVALID_PAYLOAD', 'PAYLOAD_TOO_LARGE'],
    async sees(asked) {
      const topic = await asked.served(asked.body.topic);
      await assertKeepsTopic(asked, asked.body.topic);
      return topic;
    },
    run: async ({ queues, id, body, by, seen: topic }) => ({
      status: 200,
      content: await queues.schedules.upsert(
        { ...body, id, topic } as Parameters<DelayQueueSchedules['upsert']>[0],
        by,
      ),
    }),
  }),
  route({
    method: 'DELETE',
    path: '/v1/schedules/{id}',
    name: 'deleteSchedule',
    summary: 'Remove a schedule; what it has published stays',
    right: 'operate',
    answers: { 200: { description: 'Whether it was there.', of: ['Removed'] } },
    problems: ['SCHEDULE_NOT_FOUND'],
    sees: itsSchedule,
    run: async ({ queues, by, seen: { id } }) => ({
      status: 200,
      content: { removed: await queues.schedules.remove(id, by) },
    }),
  }),
  route({
    method: 'POST',
    path: '/v1/schedules/{id}/pause',
    name: 'pauseSchedule',
    summary: 'Let a schedule publish nothing until it is resumed',
    right: 'operate',
    isRepeatable: true,
    answers: SCHEDULE,
    problems: ['SCHEDULE_NOT_FOUND'],
    sees: itsSchedule,
    run: async (call) => change(call, 'pause'),
  }),
  route({
    method: 'POST',
    path: '/v1/schedules/{id}/resume',
    name: 'resumeSchedule',
    summary: 'Let a schedule go on with its next occurrence',
    right: 'operate',
    isRepeatable: true,
    answers: SCHEDULE,
    problems: ['SCHEDULE_NOT_FOUND'],
    sees: itsSchedule,
    run: async (call) => change(call, 'resume'),
  }),
  route({
    method: 'POST',
    path: '/v1/schedules/{id}/run',
    name: 'runSchedule',
    summary: 'Publish the message of a schedule now, beside its occurrences',
    right: 'operate',
    isRepeatable: true,
    answers: { 200: { description: 'The message.', of: ['PublishedMessage'] } },
    problems: ['SCHEDULE_NOT_FOUND'],
    sees: itsSchedule,
    async run(call) {
      const { queues, seen } = call;
      return { status: 200, content: await queues.schedules.runNow(seen.id, optionsOf(call)) };
    },
  }),
];

type ScheduleCall = Call<unknown, unknown, Schedule>;

async function change(call: ScheduleCall, action: 'pause' | 'resume'): Promise<Answer> {
  const { schedules } = call.queues;
  const { id } = call.seen;
  await schedules[action](id, optionsOf(call));
  const changed = await schedules.get(id);
  if (!changed) throw notFound(id);
  return { status: 200, content: changed };
}

function optionsOf({ by, operation }: ScheduleCall): ScheduleCall['by'] & Repeatable {
  return { ...by, [OPERATION]: operation };
}

/**
 * Returns the schedule that the path names. A sender who is not allowed to read its topic does not learn that it exists.
 *
 * @throws Refusal
 */
async function itsSchedule({ queues: { schedules }, id, may }: Asked<unknown, unknown>): Promise<Schedule> {
  const topic = await schedules.topicOf(id);
  if (topic === undefined) throw notFound(id);
  if (!(await may(topic))) {
    if (!(await may(topic, 'read'))) throw notFound(id);
    throw refusal('FORBIDDEN', `You may look at schedules of topic '${topic}', but not change them ('operate').`);
  }
  const schedule = await schedules.get(id);
  if (!schedule) throw notFound(id);
  return schedule;
}

/** Refuses another topic for a schedule whose topic the sender is not allowed to read: the library's error would name that topic. */
async function assertKeepsTopic({ queues, id, may }: Asked<unknown, unknown>, topic: string): Promise<void> {
  const existing = await queues.schedules.topicOf(id);
  if (existing === undefined || existing === topic || (await may(existing, 'read'))) return;
  throw new InvalidArgumentError(`Schedule ${describe(id)} exists with another topic. Choose another id.`);
}

function notFound(id: string): Refusal {
  return refusal('SCHEDULE_NOT_FOUND', `There is no schedule ${describe(id)}.`);
}
