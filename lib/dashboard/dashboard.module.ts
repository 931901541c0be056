import {
  All,
  Controller,
  type DynamicModule,
  Inject,
  Logger,
  Module,
  type BeforeApplicationShutdown,
  Req,
  Res,
  type Type,
  VERSION_NEUTRAL,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { DelayQueueAdmin } from '../admin/delay-queue.admin.js';
import { asConfiguration, assertOptions } from '../checks/validate.js';
import { describe } from '../checks/describe.js';
import { DEFAULT_CONNECTION } from '../nest/decorators/delay-queue.constants.js';
import { tokensOf } from '../nest/decorators/delay-queue.tokens.js';
import { WithoutSwagger } from '../nest/decorators/without-swagger.js';
import { ConfigurationError } from '../errors/options.errors.js';
import type { DelayQueueEvents } from '../events/delay-queue.events.js';
import {
  type FrameworkRequest,
  type FrameworkResponse,
  type HttpRequest,
  givenBody,
  partsBelow,
  pathsBelow,
  rawExchange,
  splitUrl,
} from '../http/framework.js';
import { leaveBodies, routesAt } from '../http/own-bodies.js';
import { ownMount } from '../http/own-mount.js';
import type { DelayQueueSchedules } from '../schedules/delay-queue.schedules.js';
import { type DashboardAccess, assertAccess } from './access.js';
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
  /** Where it is, below the global prefix of the application. @defaultValue 'queues' */
  path?: string;
  /** Name of the connection that it shows. @defaultValue 'default' */
  connection?: string;
  /**
   * Who may look and who may act. It is asked for each request, after the guards of the application.
   * @defaultValue none: required, the boot fails without it
   */
  access: DashboardAccess<R>;
  /** Returns what may be shown of a payload. @defaultValue shows everything */
  redact?: DashboardRedact;
  /**
   * Where your tracing shows a trace: a URL with `{traceId}` in it, such as `'https://jaeger.example.com/trace/{traceId}'`.
   * Messages that were published within a trace link to it. @defaultValue no link
   */
  traceUrl?: string;
}

/**
 * A request of Express or Fastify, as far as the dashboard goes by it. What your guards add to it, such as `user`, is there too.
 *
 * @publicApi
 */
export type DashboardHttpRequest = HttpRequest;

const OPTIONS = ['path', 'connection', 'access', 'redact', 'traceUrl'] as const;
const DEFAULT_PATH = 'queues';

const PARTS = pathsBelow('', 3);
const PATHS = ['', ...PARTS];

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
    asConfiguration(where, () => assertOptions('Its options', options, OPTIONS));
    assertAccess(where, options.access);
    const { path = DEFAULT_PATH, connection = DEFAULT_CONNECTION, redact, traceUrl } = options;
    if (typeof path !== 'string' || !/^[\w\-./]+$/.test(path)) {
      throw new ConfigurationError(`${where}: path must be a path such as 'admin/queues'. Given: ${describe(path)}.`);
    }
    if (redact !== undefined && typeof redact !== 'function') {
      throw new ConfigurationError(`${where}: redact must be a function. Given: ${describe(redact)}.`);
    }
    if (traceUrl !== undefined && !(typeof traceUrl === 'string' && /^https?:\/\/.*\{traceId\}/.test(traceUrl))) {
      throw new ConfigurationError(
        `${where}: traceUrl must be a URL of http or https with {traceId} in it. Given: ${describe(traceUrl)}.`,
      );
    }
    const { admin, schedules, events } = tokensOf(connection);
    const handler = {
      provide: DashboardHandler,
      useFactory: (...parts: [DelayQueueAdmin, DelayQueueSchedules, DelayQueueEvents]) =>
        new DashboardHandler({
          queues: { admin: parts[0], schedules: parts[1], events: parts[2] },
          redact,
          traceUrl,
          log: new Logger('DelayQueueDashboard'),
        }),
      inject: [admin, schedules, events],
    };
    const controller = controllerAt(path, options.access as DashboardAccess<unknown>);
    return { module: DelayQueueDashboardModule, providers: [handler, ownMount()], controllers: [controller] };
  }
}

/** A controller of its own for each mount: an application may show several connections. */
function controllerAt(path: string, access: DashboardAccess<unknown>): Type {
  @WithoutSwagger()
  @Controller({ path, version: VERSION_NEUTRAL })
  class DelayQueueDashboardController implements BeforeApplicationShutdown {
    readonly #handler: DashboardHandler;

    constructor(@Inject(DashboardHandler) handler: DashboardHandler, @Inject(HttpAdapterHost) host: HttpAdapterHost) {
      this.#handler = handler;
      leaveBodies(host, routesAt(path, PARTS));
    }

    @All(PATHS)
    async answer(@Req() request: FrameworkRequest, @Res() response: FrameworkResponse): Promise<void> {
      // What it throws is answered by the application, as what a guard throws.
      const viewer = viewerOf(await access(request));
      const { request: raw, response: target, host, begin } = rawExchange(request, response);
      begin();
      const { path: pathname, search } = splitUrl(request.originalUrl);
      const rest = partsBelow(request).join('/');
      if (rest === '' && viewer) {
        // Its parts are beside the page, whatever the prefix; and Fastify takes a slash at the end for another path.
        const last = pathname.slice(pathname.lastIndexOf('/') + 1);
        target.writeHead(308, { location: last === '' ? PAGE : `${last}/${PAGE}` });
        target.end();
        return;
      }
      const query = new URLSearchParams(search);
      await this.#handler.handle({
        request: raw,
        response: target,
        host,
        path: rest,
        query,
        body: givenBody(request),
        viewer,
      });
    }

    // Later would be too late: the server waits for the connections that this ends.
    beforeApplicationShutdown(): void {
      this.#handler.close();
    }
  }
  return DelayQueueDashboardController;
}
