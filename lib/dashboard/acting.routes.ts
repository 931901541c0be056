import type { BulkOptions, BulkResult } from '../admin/index.js';
import type { ActionOn } from '../admin/catalogue/action.js';
import { ACTIONS, type NamedAction } from '../admin/catalogue/actions.js';
import { Refusal } from '../http/refusal.js';
import { type DashboardQueues, type Input, type Route, type Routes, type Sees, route } from './route.js';
import {
  type SeenTopic,
  itsDeadFilter,
  itsFilter,
  itsOperation,
  itsPayload,
  itsSchedule,
  itsTopic,
  withExamples,
} from './sees.js';

/** Actions of the pages, by path. */
export const ACTING_ROUTES: Routes = {
  ...Object.fromEntries(ACTIONS.flatMap((action) => Object.entries(routesOf(action)))),

  'api/operations/stop': route(
    ({ action }) => action,
    itsOperation,
    async ({ operations }, _, { id }) => {
      operations.stop(id);
      return {};
    },
  ),
};

function routesOf(action: NamedAction): Routes {
  const { name, command } = action;
  switch (action.target) {
    case 'message':
      return {
        [`api/${command}`]: route(name, itsPayload, async ({ queues, by }, body, { topic, isEditable }) => {
          const [ref, works] = [body.message(), action.works(inputOf(action, body))];
          const message = await queues.admin.get(topic, ref);
          // An edit begins with what the page shows, and would store the words that stand for the rest.
          if (message && !isEditable(message)) {
            throw new Refusal(
              409,
              'NOT_EDITABLE',
              'The dashboard cannot show all of this payload, so it does not edit it.',
            );
          }
          return { result: await works.one(queues, { topic, ref }, by) };
        }),
      };
    case 'messages':
      return {
        [`api/${command}`]: route(name, itsTopic, async ({ queues, by }, body, { topic }) => ({
          result: await action.works(inputOf(action, body)).one(queues, { topic, ref: body.message() }, by),
        })),
        [`api/messages/${command}`]: bulk(name, itsFilter, async (queues, body, seen, options) =>
          action.works(inputOf(action, body)).many(queues, seen, atRate(body, options)),
        ),
      };
    case 'deadLetters':
      return {
        [`api/${command}`]: route(name, withExamples(itsTopic), async ({ queues, by }, body, { topic }) =>
          action.works(inputOf(action, body)).many(queues, { topic, which: body.message() }, by),
        ),
        [`api/dead/${command}`]: bulk(name, itsDeadFilter, async (queues, body, { topic, filter }, options) =>
          action.works(inputOf(action, body)).many(queues, { topic, which: filter }, atRate(body, options)),
        ),
      };
    case 'state':
      return {
        [`api/${command}`]: bulk(name, itsTopic, async (queues, body, { topic }, options) => {
          // Typing the name keeps a tired hand from the wrong topic.
          if (!body.flag('dryRun') && body.text('confirm') !== topic) {
            throw new Refusal(400, 'NOT_CONFIRMED', "'confirm' must be the name of the topic.");
          }
          return action.works(inputOf(action, body)).many(queues, { topic }, options);
        }),
      };
    case 'topic':
      return {
        [`api/${command}`]: route(name, itsTopic, async ({ queues, by }, body, { topic }) =>
          action.works(inputOf(action, body)).one(queues, { topic }, by),
        ),
      };
  }
  return {
    [`api/schedules/${command}`]: route(name, itsSchedule, async ({ queues, by }, body, { id }) => {
      const answer = await action.works(inputOf(action, body)).one(queues, { id }, by);
      return typeof answer === 'object' ? answer : { changed: answer };
    }),
  };
}

/** Returns the inputs of an action. Payloads are replaced only where they are shown. */
function inputOf({ input, target }: ActionOn<NamedAction['target']>, body: Input): object {
  const names = Object.keys(input).filter((name) => name !== 'payload' || target === 'message');
  return Object.fromEntries(names.map((name) => [name, body.value(name)]));
}

function atRate(body: Input, options: BulkOptions): BulkOptions {
  return { ...options, rate: body.optionalNumber('rate') };
}

/** Work on many messages of a topic. It checks its input before it changes anything. */
type Work<S> = (queues: DashboardQueues, body: Input, seen: S, options: BulkOptions) => Promise<BulkResult>;

/** Counts the messages that are meant, with examples, for a dry run; otherwise begins an operation. */
function bulk<S extends SeenTopic>(action: NamedAction['name'], sees: Sees<S>, workOn: Work<S>): Route {
  return route(action, withExamples(sees), async ({ queues, operations, by }, body, seen) => {
    const work = async (options: BulkOptions): Promise<BulkResult> => workOn(queues, body, seen, { ...by, ...options });
    const about = { action, topic: seen.topic, total: body.optionalNumber('total'), ...by };
    if (body.flag('dryRun')) return work({ dryRun: true });
    // Stopped before its first step, it only checks the input: a refused operation does not begin.
    await work({ dryRun: true, signal: AbortSignal.abort() });
    return { operation: operations.begin(about, work) };
  });
}
