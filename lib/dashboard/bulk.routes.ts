import type { AuditedAction } from '../events/audit-log.js';
import type { BulkOptions, BulkResult } from '../admin/bulk-options.js';
import type { DeadLetterFilter } from '../admin/dead-letter-filter.js';
import type { DelayQueueAdmin } from '../admin/delay-queue.admin.js';
import type { MessageFilter } from '../admin/message-filter.js';
import { Refusal } from '../http/refusal.js';
import { assertMayActBy, givenFilter } from './filters.js';
import { shownMessage } from './redaction.js';
import type { ActingRoute, Given, RouteContext } from './route.js';

/** Work on many messages, by what it is told beside what it is for. */
type Work = (options: BulkOptions) => Promise<Pick<BulkResult, 'examples'>>;

/**
 * Counts what is meant, with examples, if it is asked to; else begins an operation.
 *
 * @param workOf checks what was given, and answers what is to be done
 */
function bulk(action: AuditedAction, workOf: (context: RouteContext, body: Given) => Work): ActingRoute {
  return {
    action,
    act: async (context, body) => {
      const { operations, by, redact } = context;
      const [topic, total] = [body.text('topic'), body.optionalNumber('total')];
      const work = workOf(context, body);
      if (body.flag('dryRun')) {
        const counted = await work({ ...by, dryRun: true });
        return { ...counted, examples: counted.examples?.map((message) => shownMessage(message, redact)) };
      }
      // Stopped before its first step, it only checks what was given: what is refused has not begun.
      await work({ ...by, dryRun: true, signal: AbortSignal.abort() });
      const about = { action, topic, total, ...by };
      return { operation: operations.begin(about, (control) => work({ ...by, ...control })) };
    },
  };
}

interface Target<F> {
  readonly admin: DelayQueueAdmin;
  readonly topic: string;
  readonly filter: F;
}

/** Work on the messages that a filter means, at a rate. The text that dead letters are chosen by is that of their errors, which are shown. */
function filtered<F>(workOn: (target: Target<F>, body: Given) => Work, assertMay = assertMayActBy) {
  return (context: RouteContext, body: Given): Work => {
    const [topic, filter, rate] = [body.text('topic'), givenFilter(body), body.optionalNumber('rate')];
    assertMay(context, filter);
    const work = workOn({ admin: context.queues.admin, topic, filter: filter as F }, body);
    return (options) => work({ ...options, rate });
  };
}

/** Work on all that waits, or is dead. */
function cleared(action: 'drain' | 'purge') {
  return ({ queues: { admin } }: RouteContext, body: Given): Work => {
    const topic = body.text('topic');
    // Typing the name is what keeps a tired hand from the wrong topic.
    if (!body.flag('dryRun') && body.text('confirm') !== topic) {
      throw new Refusal(400, 'NOT_CONFIRMED', "'confirm' must be the name of the topic.");
    }
    return (options) => admin[action](topic, options);
  };
}

/** What can be done to many messages at once. */
export const BULK_ROUTES: Readonly<Record<string, ActingRoute>> = {
  'api/messages/cancel': bulk(
    'cancel',
    filtered<MessageFilter>(
      ({ admin, topic, filter }) =>
        (options) =>
          admin.cancel(topic, filter, options),
    ),
  ),
  'api/messages/reschedule': bulk(
    'reschedule',
    filtered<MessageFilter>(({ admin, topic, filter }, body) => {
      const when = body.when();
      return (options) => admin.reschedule(topic, filter, when, options);
    }),
  ),
  'api/messages/run-now': bulk(
    'runNow',
    filtered<MessageFilter>(
      ({ admin, topic, filter }) =>
        (options) =>
          admin.runNow(topic, filter, options),
    ),
  ),
  'api/dead/requeue': bulk(
    'requeue',
    filtered<DeadLetterFilter>(
      ({ admin, topic, filter }) =>
        (options) =>
          admin.requeue(topic, filter, options),
      () => {},
    ),
  ),
  'api/dead/remove': bulk(
    'remove',
    filtered<DeadLetterFilter>(
      ({ admin, topic, filter }) =>
        (options) =>
          admin.remove(topic, filter, options),
      () => {},
    ),
  ),
  'api/drain': bulk('drain', cleared('drain')),
  'api/purge': bulk('purge', cleared('purge')),
};
