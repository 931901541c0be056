import { describe } from '../checks/describe.js';
import { InvalidArgumentError } from '../errors/options.errors.js';
import type { Refusal } from '../http/refusal.js';
import type { Topic } from '../messages/topic.js';
import type { Schedule, ScheduledMessageOptions, ScheduleRule } from '../schedules/schedule.interface.js';
import type { GatewayRight } from './access.js';
import { timeOf } from './message.routes.js';
import { refusal } from './problem.js';
import type { Call, Route } from './route.js';
import { type Schema, ref } from './schema.js';

interface GivenSchedule extends Omit<ScheduleRule, 'startAt' | 'endAt'> {
  readonly topic: string;
  readonly payload: unknown;
  readonly startAt?: number | string;
  readonly endAt?: number | string;
  readonly options?: ScheduledMessageOptions;
}

const OF_TOPIC: Schema = {
  type: 'object',
  properties: { topic: { type: 'string', description: 'Only those of this topic.' } },
  additionalProperties: false,
};

const SCHEDULE = { 200: { description: 'The schedule as it is stored.', schema: ref('Schedule') } } as const;

export const SCHEDULE_ROUTES: readonly Route[] = [
  {
    method: 'GET',
    path: '/v1/schedules',
    name: 'listSchedules',
    summary: 'List the schedules of the topics that you may read',
    right: 'read',
    query: OF_TOPIC,
    answers: { 200: { description: 'In the order of their ids.', schema: ref('Schedules') } },
    problems: [],
    run: async (call) => {
      const { topic } = call.query;
      if (topic !== undefined) await call.topic(topic, 'read');
      const all = await call.queues.schedules.list();
      const schedules: Schedule[] = [];
      for (const schedule of all) {
        if (topic !== undefined ? schedule.topic === topic : await call.may(schedule.topic, 'read'))
          schedules.push(schedule);
      }
      return { status: 200, content: { schedules } };
    },
  },
  {
    method: 'GET',
    path: '/v1/schedules/{id}',
    name: 'getSchedule',
    summary: 'Look at a schedule',
    right: 'read',
    answers: SCHEDULE,
    problems: ['SCHEDULE_NOT_FOUND'],
    run: async (call) => ({ status: 200, content: await scheduleOf(call, 'read') }),
  },
  {
    method: 'PUT',
    path: '/v1/schedules/{id}',
    name: 'putSchedule',
    summary: 'Store a schedule, or change it',
    right: 'operate',
    body: ref('ScheduleDefinition'),
    answers: SCHEDULE,
    problems: ['SERIALIZATION', 'INVALID_PAYLOAD', 'PAYLOAD_TOO_LARGE'],
    run: async (call) => {
      const { startAt, endAt, ...given } = call.body as GivenSchedule;
      const id = call.path['id'] as string;
      const topic = (await call.topic(given.topic, 'operate')) as Topic<unknown>;
      await assertKeepsTopic(call, id, given.topic);
      const times = { ...optionalTime('startAt', startAt), ...optionalTime('endAt', endAt) };
      const { actor, queues } = call;
      return { status: 200, content: await queues.schedules.upsert({ ...given, ...times, id, topic }, { actor }) };
    },
  },
  {
    method: 'DELETE',
    path: '/v1/schedules/{id}',
    name: 'deleteSchedule',
    summary: 'Remove a schedule; what it has published stays',
    right: 'operate',
    answers: { 200: { description: 'Whether it was there.', schema: ref('Removed') } },
    problems: ['SCHEDULE_NOT_FOUND'],
    run: async (call) => {
      const { id } = await scheduleOf(call, 'operate');
      return { status: 200, content: { removed: await call.queues.schedules.remove(id, { actor: call.actor }) } };
    },
  },
  {
    method: 'POST',
    path: '/v1/schedules/{id}/pause',
    name: 'pauseSchedule',
    summary: 'Let a schedule publish nothing until it is resumed',
    right: 'operate',
    answers: SCHEDULE,
    problems: ['SCHEDULE_NOT_FOUND'],
    run: async (call) => change(call, 'pause'),
  },
  {
    method: 'POST',
    path: '/v1/schedules/{id}/resume',
    name: 'resumeSchedule',
    summary: 'Let a schedule go on with its next occurrence',
    right: 'operate',
    answers: SCHEDULE,
    problems: ['SCHEDULE_NOT_FOUND'],
    run: async (call) => change(call, 'resume'),
  },
  {
    method: 'POST',
    path: '/v1/schedules/{id}/run',
    name: 'runSchedule',
    summary: 'Publish the message of a schedule now, beside its occurrences',
    right: 'operate',
    isRepeatable: true,
    answers: { 200: { description: 'The message.', schema: ref('PublishedMessage') } },
    problems: ['SCHEDULE_NOT_FOUND'],
    run: async (call) => {
      const { id } = await scheduleOf(call, 'operate');
      const { once, actor } = call;
      return { status: 200, content: await call.queues.schedules.runNow(id, { actor, once }) };
    },
  },
];

async function change(call: Call, action: 'pause' | 'resume'): Promise<{ status: number; content: Schedule }> {
  const { schedules } = call.queues;
  const { id } = await scheduleOf(call, 'operate');
  await schedules[action](id, { actor: call.actor });
  const changed = await schedules.get(id);
  if (!changed) throw notFound(id);
  return { status: 200, content: changed };
}

/**
 * The schedule that the path names. Whoever may not read its topic does not learn that it exists.
 *
 * @throws Refusal
 */
async function scheduleOf(call: Call, right: GatewayRight): Promise<Schedule> {
  const id = call.path['id'] as string;
  const schedule = await call.queues.schedules.get(id);
  if (!schedule) throw notFound(id);
  const { topic } = schedule;
  if (await call.may(topic, right)) return schedule;
  if (right === 'read' || !(await call.may(topic, 'read'))) throw notFound(id);
  throw refusal('FORBIDDEN', `You may look at schedules of topic '${topic}', but not change them ('${right}').`);
}

/** The library's error says which topic an existing schedule has. */
async function assertKeepsTopic(call: Call, id: string, topic: string): Promise<void> {
  const existing = await call.queues.schedules.get(id);
  if (!existing || existing.topic === topic || (await call.may(existing.topic, 'read'))) return;
  throw new InvalidArgumentError(`Schedule ${describe(id)} exists with another topic. Choose another id.`);
}

function notFound(id: string): Refusal {
  return refusal('SCHEDULE_NOT_FOUND', `There is no schedule ${describe(id)}.`);
}

function optionalTime<N extends string>(name: N, given: number | string | undefined): { [K in N]?: number } {
  if (given === undefined) return {};
  return { [name]: typeof given === 'string' ? timeOf(name, given) : given } as { [K in N]?: number };
}
