import type { DeadLetterFilter } from '../admin/dead-letter-filter.js';
import { isPlainObject } from '../checks/validate.js';
import { Refusal } from '../http/refusal.js';
import { shownMessage } from './redaction.js';
import type { ActingRoute, Given, RouteContext } from './route.js';

/** What the pages can do, by path. All of it needs the right to operate, also what only counts. */
export const ACTING_ROUTES: Readonly<Record<string, ActingRoute>> = {
  'api/cancel': async ({ queues: { admin }, user: { actor } }, body) => ({
    result: await admin.cancel(body.text('topic'), body.message(), { actor }),
  }),

  'api/reschedule': async ({ queues: { admin }, user: { actor } }, body) => {
    const deliverAt = body.optionalNumber('deliverAt');
    const when = deliverAt === undefined ? { delay: body.text('delay') } : { deliverAt };
    return {
      changed: await admin.reschedule(body.text('topic'), body.message(), when, { actor }),
    };
  },

  'api/run-now': async ({ queues: { admin }, user: { actor } }, body) => ({
    changed: await admin.runNow(body.text('topic'), body.message(), { actor }),
  }),

  'api/edit': async ({ queues: { admin }, redact, user: { actor } }, body) => {
    const [topic, name, payload] = [body.text('topic'), body.message(), body.value('payload')];
    if (payload === undefined) throw new Refusal(400, 'INVALID_ARGUMENT', "'payload' is missing.");
    const message = await admin.get(topic, name);
    // Whoever edits begins with what the page shows, and would store the words that stand for the rest.
    if (message && !shownMessage(message, redact).editable) {
      throw new Refusal(409, 'NOT_EDITABLE', 'The dashboard cannot show all of this payload, so it does not edit it.');
    }
    return { changed: await admin.edit(topic, name, payload, { actor }) };
  },

  'api/requeue': async ({ queues: { admin }, user: { actor } }, body) =>
    admin.requeue(body.text('topic'), body.message(), { actor }),

  'api/remove': async ({ queues: { admin }, user: { actor } }, body) =>
    admin.remove(body.text('topic'), body.message(), { actor }),

  'api/pause': async ({ queues: { admin }, user: { actor } }, body) => {
    await admin.pause(body.text('topic'), { actor });
    return {};
  },

  'api/resume': async ({ queues: { admin }, user: { actor } }, body) => {
    await admin.resume(body.text('topic'), { actor });
    return {};
  },

  'api/dead/requeue': async (context, body) => onDeadLetters('requeue', context, body),

  'api/dead/remove': async (context, body) => onDeadLetters('remove', context, body),

  'api/drain': async (context, body) => clear('drain', context, body),

  'api/purge': async (context, body) => clear('purge', context, body),

  'api/schedules/pause': async ({ queues: { schedules }, user: { actor } }, body) => ({
    changed: await schedules.pause(body.text('id'), { actor }),
  }),

  'api/schedules/resume': async ({ queues: { schedules }, user: { actor } }, body) => ({
    changed: await schedules.resume(body.text('id'), { actor }),
  }),

  'api/schedules/run-now': async ({ queues: { schedules }, user: { actor } }, body) =>
    schedules.runNow(body.text('id'), { actor }),

  'api/schedules/remove': async ({ queues: { schedules }, user: { actor } }, body) => ({
    changed: await schedules.remove(body.text('id'), { actor }),
  }),

  'api/operations/stop': async ({ operations }, body) => {
    operations.stop(body.text('id'));
    return {};
  },
};

/** Counts the dead letters that a filter fits, or begins to requeue or remove them. */
async function onDeadLetters(
  action: 'requeue' | 'remove',
  { queues: { admin }, operations, user: { actor } }: RouteContext,
  body: Given,
): Promise<unknown> {
  const [topic, rate] = [body.text('topic'), body.optionalNumber('rate')];
  const filter = body.value('filter');
  // A message is named elsewhere: what has an id would be one.
  if (!isPlainObject(filter) || 'id' in filter) {
    throw new Refusal(400, 'INVALID_ARGUMENT', "'filter' must be an object with what the dead letters have in common.");
  }
  const which = filter as DeadLetterFilter;
  const options = { actor, ...(rate === undefined ? {} : { rate }) };
  if (body.flag('dryRun')) return admin[action](topic, which, { ...options, dryRun: true });
  return {
    operation: operations.begin({ action, topic, actor, total: body.optionalNumber('total') }, (control) =>
      admin[action](topic, which, { ...options, ...control }),
    ),
  };
}

/** Counts what waits, or is dead, or begins to remove all of it. */
async function clear(
  action: 'drain' | 'purge',
  { queues: { admin }, operations, user: { actor } }: RouteContext,
  body: Given,
): Promise<unknown> {
  const topic = body.text('topic');
  if (body.flag('dryRun')) return admin[action](topic, { actor, dryRun: true });
  // Typing the name is what keeps a tired hand from the wrong topic.
  if (body.text('confirm') !== topic) {
    throw new Refusal(400, 'NOT_CONFIRMED', "'confirm' must be the name of the topic.");
  }
  return {
    operation: operations.begin({ action, topic, actor, total: body.optionalNumber('total') }, (control) =>
      admin[action](topic, { actor, ...control }),
    ),
  };
}
