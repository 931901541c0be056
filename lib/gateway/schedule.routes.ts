import { describe } from '../checks/describe.js';
import { InvalidArgumentError } from '../errors/options.errors.js';
import type { Refusal } from '../http/refusal.js';
import { OPERATION, type Repeatable } from '../messages/operation.js';
import type { DelayQueueSchedules, Schedule } from '../index.js';
import type { GatewayRight } from './access.js';
import { refusal, toProblem } from './problem.js';
import { ScheduleBody, TopicQuery } from './request-schemas.js';
import { type Answer, type Call, type Route, route } from './route.js';

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
    async run(call) {
      const { topic } = call.query;
      if (topic !== undefined) await call.served(topic, 'read');
      const all = await call.queues.schedules.listKnown();
      const read = new Set<string>();
      for (const one of new Set([...all.schedules, ...all.failed].map((of) => of.topic))) {
        if (topic === undefined ? await call.may(one, 'read') : one === topic) read.add(one);
      }
      const failed = all.failed.filter((one) => read.has(one.topic));
      const [only] = failed;
      if (topic !== undefined && only) throw only.error;
      return {
        status: 200,
        content: {
          schedules: all.schedules.filter((one) => read.has(one.topic)),
          failed: failed.map((one) => ({ topic: one.topic, ids: one.ids, error: toProblem(one.error) })),
        },
      };
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
    run: async (call) => ({ status: 200, content: await scheduleOf(call, 'read') }),
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
    async run(call) {
      const { queues, id, body, by } = call;
      const topic = (await call.served(body.topic, 'operate')) as string;
      await assertKeepsTopic(call, body.topic);
      return {
        status: 200,
        content: await queues.schedules.upsert(
          { ...body, id, topic } as Parameters<DelayQueueSchedules['upsert']>[0],
          by,
        ),
      };
    },
  }),
  route({
    method: 'DELETE',
    path: '/v1/schedules/{id}',
    name: 'deleteSchedule',
    summary: 'Remove a schedule; what it has published stays',
    right: 'operate',
    answers: { 200: { description: 'Whether it was there.', of: ['Removed'] } },
    problems: ['SCHEDULE_NOT_FOUND'],
    async run(call) {
      const { id } = await scheduleOf(call, 'operate');
      return { status: 200, content: { removed: await call.queues.schedules.remove(id, call.by) } };
    },
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
    async run(call) {
      const { id } = await scheduleOf(call, 'operate');
      return { status: 200, content: await call.queues.schedules.runNow(id, optionsOf(call)) };
    },
  }),
];

async function change(call: Call<unknown, unknown>, action: 'pause' | 'resume'): Promise<Answer> {
  const { schedules } = call.queues;
  const { id } = await scheduleOf(call, 'operate');
  await schedules[action](id, optionsOf(call));
  const changed = await schedules.get(id);
  if (!changed) throw notFound(id);
  return { status: 200, content: changed };
}

function optionsOf({ by, operation }: Call<unknown, unknown>): Call<unknown, unknown>['by'] & Repeatable {
  return { ...by, [OPERATION]: operation };
}

/**
 * The schedule that the path names. Whoever may not read its topic does not learn that it exists.
 *
 * @throws Refusal
 */
async function scheduleOf(call: Call<unknown, unknown>, right: GatewayRight): Promise<Schedule> {
  const { id } = call;
  const { schedules } = call.queues;
  const topic = await schedules.topicOf(id);
  if (topic === undefined || !(await call.may(topic, right))) {
    if (topic === undefined || right === 'read' || !(await call.may(topic, 'read'))) throw notFound(id);
    throw refusal('FORBIDDEN', `You may look at schedules of topic '${topic}', but not change them ('${right}').`);
  }
  const schedule = await schedules.get(id);
  if (!schedule) throw notFound(id);
  return schedule;
}

/** The library's error says which topic an existing schedule has. */
async function assertKeepsTopic(call: Call<unknown, unknown>, topic: string): Promise<void> {
  const { id } = call;
  const existing = await call.queues.schedules.topicOf(id);
  if (existing === undefined || existing === topic || (await call.may(existing, 'read'))) return;
  throw new InvalidArgumentError(`Schedule ${describe(id)} exists with another topic. Choose another id.`);
}

function notFound(id: string): Refusal {
  return refusal('SCHEDULE_NOT_FOUND', `There is no schedule ${describe(id)}.`);
}
