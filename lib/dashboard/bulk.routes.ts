import type { AuditedAction, BulkOptions, BulkResult } from '../admin/index.js';
import type { DelayQueueAdmin } from '../admin/delay-queue.admin.js';
import { Refusal } from '../http/refusal.js';
import { type Input, type Route, type Routes, type Sees, route } from './route.js';
import { type SeenTopic, itsDeadFilter, itsFilter, itsTopic, withExamples } from './sees.js';

type Counted = Pick<BulkResult, 'examples'>;

/** Work on many messages of a topic. It checks what it is given before it changes anything. */
type Work<S> = (
  target: S & { readonly admin: DelayQueueAdmin; readonly body: Input },
  options: BulkOptions,
) => Promise<Counted>;

/** Counts what is meant, with examples, if it is asked to; else begins an operation. */
function bulk<S extends SeenTopic>(action: AuditedAction, sees: Sees<S>, workOn: Work<S>): Route {
  return route(action, withExamples(sees), async ({ queues: { admin }, operations, by }, body, seen) => {
    const work = async (options: BulkOptions): Promise<Counted> => workOn({ ...seen, admin, body }, options);
    const about = { action, topic: seen.topic, total: body.optionalNumber('total'), ...by };
    if (body.flag('dryRun')) return work({ ...by, dryRun: true });
    // Stopped before its first step, it only checks what was given: what is refused has not begun.
    await work({ ...by, dryRun: true, signal: AbortSignal.abort() });
    return { operation: operations.begin(about, async (control) => work({ ...by, ...control })) };
  });
}

/** Works on the messages that a filter means, at a rate. */
function filtered<S extends SeenTopic>(action: AuditedAction, sees: Sees<S>, workOn: Work<S>): Route {
  return bulk(action, sees, async (target, options) =>
    workOn(target, { ...options, rate: target.body.optionalNumber('rate') }),
  );
}

/** Works on all that waits, or is dead. */
function cleared(action: 'drain' | 'purge'): Route {
  return bulk(action, itsTopic, async ({ admin, topic, body }, options) => {
    // Typing the name is what keeps a tired hand from the wrong topic.
    if (!body.flag('dryRun') && body.text('confirm') !== topic) {
      throw new Refusal(400, 'NOT_CONFIRMED', "'confirm' must be the name of the topic.");
    }
    return admin[action](topic, options);
  });
}

/** What can be done to many messages at once. */
export const BULK_ROUTES: Routes = {
  'api/messages/cancel': filtered('cancel', itsFilter, async ({ admin, topic, filter }, options) =>
    admin.cancel(topic, filter, options),
  ),
  'api/messages/reschedule': filtered('reschedule', itsFilter, async ({ admin, topic, filter, body }, options) =>
    admin.reschedule(topic, filter, body.when(), options),
  ),
  'api/messages/run-now': filtered('runNow', itsFilter, async ({ admin, topic, filter }, options) =>
    admin.runNow(topic, filter, options),
  ),
  'api/dead/requeue': filtered('requeue', itsDeadFilter, async ({ admin, topic, filter }, options) =>
    admin.requeue(topic, filter, options),
  ),
  'api/dead/remove': filtered('remove', itsDeadFilter, async ({ admin, topic, filter }, options) =>
    admin.remove(topic, filter, options),
  ),
  'api/drain': cleared('drain'),
  'api/purge': cleared('purge'),
};
