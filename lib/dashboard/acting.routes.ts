import { Refusal } from '../http/refusal.js';
import { BULK_ROUTES } from './bulk.routes.js';
import { type Routes, route } from './route.js';
import { itsOperation, itsPayload, itsSchedule, itsTopic, withExamples } from './sees.js';

/** What the pages can do, by path. */
export const ACTING_ROUTES: Routes = {
  'api/cancel': route('cancel', itsTopic, async ({ queues: { admin }, by }, body, { topic }) => ({
    result: await admin.cancel(topic, body.message(), by),
  })),

  'api/reschedule': route('reschedule', itsTopic, async ({ queues: { admin }, by }, body, { topic }) => ({
    result: await admin.reschedule(topic, body.message(), body.when(), by),
  })),

  'api/run-now': route('runNow', itsTopic, async ({ queues: { admin }, by }, body, { topic }) => ({
    result: await admin.runNow(topic, body.message(), by),
  })),

  'api/edit': route('edit', itsPayload, async ({ queues: { admin }, by }, body, { topic, isEditable }) => {
    const [name, payload] = [body.message(), body.value('payload')];
    if (payload === undefined) throw new Refusal(400, 'INVALID_ARGUMENT', "'payload' is missing.");
    const message = await admin.get(topic, name);
    // Whoever edits begins with what the page shows, and would store the words that stand for the rest.
    if (message && !isEditable(message)) {
      throw new Refusal(409, 'NOT_EDITABLE', 'The dashboard cannot show all of this payload, so it does not edit it.');
    }
    return { result: await admin.edit(topic, name, payload, by) };
  }),

  'api/requeue': route('requeue', withExamples(itsTopic), async ({ queues: { admin }, by }, body, { topic }) =>
    admin.requeue(topic, body.message(), by),
  ),

  'api/remove': route('remove', withExamples(itsTopic), async ({ queues: { admin }, by }, body, { topic }) =>
    admin.remove(topic, body.message(), by),
  ),

  'api/pause': route('pause', itsTopic, async ({ queues: { admin }, by }, _, { topic }) => {
    await admin.pause(topic, by);
    return {};
  }),

  'api/hold': route('hold', itsTopic, async ({ queues: { admin }, by }, body, { topic }) => ({
    heldUntil: await admin.hold(topic, body.text('delay'), by),
  })),

  'api/resume': route('resume', itsTopic, async ({ queues: { admin }, by }, _, { topic }) => {
    await admin.resume(topic, by);
    return {};
  }),

  ...BULK_ROUTES,

  'api/schedules/pause': route('pauseSchedule', itsSchedule, async ({ queues: { schedules }, by }, _, { id }) => ({
    changed: await schedules.pause(id, by),
  })),

  'api/schedules/resume': route('resumeSchedule', itsSchedule, async ({ queues: { schedules }, by }, _, { id }) => ({
    changed: await schedules.resume(id, by),
  })),

  'api/schedules/run-now': route('runScheduleNow', itsSchedule, async ({ queues: { schedules }, by }, _, { id }) =>
    schedules.runNow(id, by),
  ),

  'api/schedules/remove': route('removeSchedule', itsSchedule, async ({ queues: { schedules }, by }, _, { id }) => ({
    changed: await schedules.remove(id, by),
  })),

  'api/operations/stop': route(
    ({ action }) => action,
    itsOperation,
    async ({ operations }, _, { id }) => {
      operations.stop(id);
      return {};
    },
  ),
};
