import { type DynamicModule, Logger, Module } from '@nestjs/common';
import type { DelayQueueAdmin } from '../admin/delay-queue.admin.js';
import { describe } from '../checks/describe.js';
import { DEFAULT_CONNECTION, tokensOf } from '../nest/decorators/delay-queue.tokens.js';
import { ConfigurationError } from '../errors/options.errors.js';
import type { DelayQueueEvents } from '../events/delay-queue.events.js';
import { type HttpRequest, splitUrl } from '../http/framework.js';
import { assertMountOptions, mount } from '../http/mount.js';
import type { DelayQueueSchedules } from '../schedules/delay-queue.schedules.js';
import type { DashboardAccess } from './access.js';
import { PAGE } from './assets.js';
import { DashboardHandler } from './dashboard.handler.js';
import type { DashboardRedact } from './redaction.js';
import { viewerOf } from './viewer.js';

/**
 * Options of `DelayQueueDashboardModule.forRoot()`.
 *
 * @publicApi
 */
export interface DelayQueueDashboardOptions<R = DashboardHttpRequest> {
  /** Its path, below the global prefix of the application. @defaultValue 'queues' */
  path?: string;
  /** Name of the connection that it shows. Import the module once for each connection, with a path of its own. @defaultValue 'default' */
  connection?: string;
  /**
   * Decides who is allowed to look and to act. It is called for each request, after the guards of the application.
   * @defaultValue none: required, the boot fails without it
   */
  access: DashboardAccess<R>;
  /**
   * Returns the part of a payload that can be shown. A payload that it changed can't be edited, and if it throws, nothing is shown.
   *
   * @defaultValue shows everything
   */
  redact?: DashboardRedact;
  /**
   * URL at which your tracing shows a trace, with `{traceId}` in it, such as `'https://jaeger.example.com/trace/{traceId}'`.
   * Messages that were published within a trace link to it. @defaultValue no link
   */
  traceUrl?: string;
}

/**
 * A request of Express or Fastify, with the parts that the dashboard relies on. Anything that your guards add to it, such as `user`, is
 * there too.
 *
 * @publicApi
 */
export type DashboardHttpRequest = HttpRequest;

const RULES = {
  names: ['path', 'connection', 'access', 'redact', 'traceUrl'],
  path: /^[\w\-./]+$/,
  examplePath: 'admin/queues',
  access: "it may see the queues ('read'), also change them ('operate'), or neither ('none')",
} as const;
const DEFAULT_PATH = 'queues';

/** Paths without a wildcard, which Express and Fastify write differently. */
const PATHS = ['/:a/:b/:c', '/:a/:b', '/:a', ''];

/**
 * The dashboard in your application, on Express or Fastify. Global guards apply to it, then `access`.
 *
 * @example
 * ```ts
 * DelayQueueDashboardModule.forRoot({
 *   path: 'queues',
 *   access: (request) => (request.headers['x-role'] === 'operator' ? 'operate' : 'none'),
 * });
 * ```
 *
 * @publicApi
 */
@Module({})
export class DelayQueueDashboardModule {
  /** @throws ConfigurationError if an option is wrong, or `access` is missing */
  static forRoot<R = DashboardHttpRequest>(options: DelayQueueDashboardOptions<R>): DynamicModule {
    const where = 'DelayQueueDashboardModule.forRoot()';
    assertMountOptions(where, options, RULES);
    const { path = DEFAULT_PATH, connection = DEFAULT_CONNECTION, redact, traceUrl } = options;
    if (redact !== undefined && typeof redact !== 'function') {
      throw new ConfigurationError(`${where}: redact must be a function. Given: ${describe(redact)}.`);
    }
    if (traceUrl !== undefined && !(typeof traceUrl === 'string' && /^https?:\/\/.*\{traceId\}/.test(traceUrl))) {
      throw new ConfigurationError(
        `${where}: traceUrl must be a URL of http or https with {traceId} in it. Given: ${describe(traceUrl)}.`,
      );
    }
    const { admin, schedules, events } = tokensOf(connection);
    const access = options.access as DashboardAccess<unknown>;
    return mount<[DelayQueueAdmin, DelayQueueSchedules, DelayQueueEvents], DashboardHandler>({
      module: DelayQueueDashboardModule,
      path,
      paths: PATHS,
      parts: [admin, schedules, events],
      handler: (...parts) =>
        new DashboardHandler({
          queues: { admin: parts[0], schedules: parts[1], events: parts[2] },
          redact,
          traceUrl,
          log: new Logger('DelayQueueDashboard'),
        }),
      // Later would be too late: the server waits for the connections that this ends.
      closesIn: 'beforeApplicationShutdown',
      answer: async (handler, { begin, ...served }, asked) => {
        // The application answers an error of `access` like one of a guard.
        const viewer = viewerOf(await access(asked));
        begin();
        if (served.path !== '' || !viewer) {
          await handler.handle({ ...served, viewer });
          return;
        }
        // The parts are beside the page, whatever the prefix; and Fastify takes a trailing slash for another path.
        const [last = ''] = splitUrl(asked.originalUrl).path.split('/').slice(-1);
        served.response.writeHead(308, { location: last === '' ? PAGE : `${last}/${PAGE}` }).end();
      },
    });
  }
}
