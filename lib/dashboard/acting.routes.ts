import { Refusal } from '../http/refusal.js';
import { BULK_ROUTES } from './bulk.routes.js';
import { shownMessage } from './redaction.js';
import { type ActingRoute, scheduleOf } from './route.js';

/** What the pages can do, by path. */
export const ACTING_ROUTES: Readonly<Record<string, ActingRoute>> = {
  'api/cancel': {
    action: 'cancel',
    act: async ({ queues: { admin }, by }, body) => ({
      result: await admin.cancel(body.text('topic'), body.message(), by),
    }),
  },

  'api/reschedule': {
    action: 'reschedule',
    act: async ({ queues: { admin }, by }, body) => ({
      result: await admin.reschedule(body.text('topic'), body.message(), body.when(), by),
    }),
  },

  'api/run-now': {
    action: 'runNow',
    act: async ({ queues: { admin }, by }, body) => ({
      result: await admin.runNow(body.text('topic'), body.message(), by),
    }),
  },

  'api/edit': {
    action: 'edit',
    act: async ({ queues: { admin }, redact, viewer, by }, body) => {
      viewer.assertSeesPayloads();
      const [topic, name, payload] = [body.text('topic'), body.message(), body.value('payload')];
      if (payload === undefined) throw new Refusal(400, 'INVALID_ARGUMENT', "'payload' is missing.");
      const message = await admin.get(topic, name);
      // Whoever edits begins with what the page shows, and would store the words that stand for the rest.
      if (message && !shownMessage(message, redact).editable) {
        throw new Refusal(
          409,
          'NOT_EDITABLE',
          'The dashboard cannot show all of this payload, so it does not edit it.',
        );
      }
      return { result: await admin.edit(topic, name, payload, by) };
    },
  },

  'api/requeue': {
    action: 'requeue',
    act: async ({ queues: { admin }, by }, body) => admin.requeue(body.text('topic'), body.message(), by),
  },

  'api/remove': {
    action: 'remove',
    act: async ({ queues: { admin }, by }, body) => admin.remove(body.text('topic'), body.message(), by),
  },

  'api/pause': {
    action: 'pause',
    act: async ({ queues: { admin }, by }, body) => {
      await admin.pause(body.text('topic'), by);
      return {};
    },
  },

  'api/hold': {
    action: 'hold',
    act: async ({ queues: { admin }, by }, body) => ({
      heldUntil: await admin.hold(body.text('topic'), body.text('delay'), by),
    }),
  },

  'api/resume': {
    action: 'resume',
    act: async ({ queues: { admin }, by }, body) => {
      await admin.resume(body.text('topic'), by);
      return {};
    },
  },

  ...BULK_ROUTES,

  'api/schedules/pause': {
    action: 'pauseSchedule',
    act: async (context, body) => {
      const { id } = await scheduleOf(context, body);
      return { changed: await context.queues.schedules.pause(id, context.by) };
    },
  },

  'api/schedules/resume': {
    action: 'resumeSchedule',
    act: async (context, body) => {
      const { id } = await scheduleOf(context, body);
      return { changed: await context.queues.schedules.resume(id, context.by) };
    },
  },

  'api/schedules/run-now': {
    action: 'runScheduleNow',
    act: async (context, body) => {
      const { id } = await scheduleOf(context, body);
      return context.queues.schedules.runNow(id, context.by);
    },
  },

  'api/schedules/remove': {
    action: 'removeSchedule',
    act: async (context, body) => {
      const { id } = await scheduleOf(context, body);
      return { changed: await context.queues.schedules.remove(id, context.by) };
    },
  },

  'api/operations/stop': {
    action: ({ operations, viewer }, body) => operations.get(body.text('id'), viewer).action,
    act: async ({ operations, viewer }, body) => {
      operations.stop(body.text('id'), viewer);
      return {};
    },
  },
};
