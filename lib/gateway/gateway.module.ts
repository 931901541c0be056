import {
  All,
  Controller,
  type DynamicModule,
  Inject,
  Logger,
  Module,
  type OnModuleDestroy,
  Req,
  Res,
  type Type,
  VERSION_NEUTRAL,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { DelayQueueAdmin } from '../admin/delay-queue.admin.js';
import { describe } from '../checks/describe.js';
import { asConfiguration, assertOptions } from '../checks/validate.js';
import { DEFAULT_CONNECTION } from '../nest/decorators/delay-queue.constants.js';
import { tokensOf } from '../nest/decorators/delay-queue.tokens.js';
import { WithoutSwagger } from '../nest/decorators/without-swagger.js';
import { ConfigurationError, InvalidArgumentError } from '../errors/options.errors.js';
import { checkedActor } from '../events/audit-log.js';
import {
  type FrameworkRequest,
  type FrameworkResponse,
  type HttpRequest,
  givenBody,
  placeOf,
  rawExchange,
} from '../http/framework.js';
import { leaveBodies, routesAt } from '../http/own-bodies.js';
import { ownMount } from '../http/own-mount.js';
import type { TopicRef } from '../messages/topic.js';
import type { DelayQueueProducer } from '../producer/delay-queue.producer.js';
import type { DelayQueueReceiver } from '../consumer/delay-queue.receiver.js';
import type { DelayQueueSchedules } from '../schedules/delay-queue.schedules.js';
import { type GatewayAccess, assertAccess, servedTopics } from './access.js';
import { GatewayHandler } from './gateway.handler.js';
import { checkedLimits } from './limits.js';
import { openApiDocument } from './openapi.js';
import { documentRoute } from './own.routes.js';
import type { Route } from './route.js';
import { ROUTES } from './routes.js';

/**
 * Options of `DelayQueueGatewayModule.forRoot()`.
 *
 * @publicApi
 */
export interface DelayQueueGatewayOptions<R = GatewayHttpRequest> {
  /** What its routes, `/v1/…` and `/openapi.json`, are below, beside the global prefix of the application. @defaultValue '' */
  path?: string;
  /** Name of the connection that it serves. @defaultValue 'default' */
  connection?: string;
  /** The topics that it serves, one at least; a schema is checked at a publish and before a delivery. @defaultValue none */
  topics: readonly TopicRef[];
  /**
   * Who has which right for which topic. It is asked for each request, after the guards of the application.
   * @defaultValue none: required, the boot fails without it
   */
  access: GatewayAccess<R>;
  /**
   * Who sent a request, for the audit log: 1 to 256 characters. It is asked after the guards of the application; what it throws ends the
   * request, as in a guard. @defaultValue nobody is named
   */
  actor?: (request: R) => string | undefined;
  /** Most requests that wait for messages at once. @defaultValue 1,000 */
  maxWaiting?: number;
  /** Largest body of a request, in bytes; limits of the application's body parsers do not count here. @defaultValue 8 MiB */
  maxBody?: number;
}

/**
 * A request of Express or Fastify, as far as the gateway goes by it. What your guards add to it, such as `user`, is there too.
 *
 * @publicApi
 */
export type GatewayHttpRequest = HttpRequest;

const OPTIONS = ['path', 'connection', 'topics', 'access', 'actor', 'maxWaiting', 'maxBody'] as const;

const DOCUMENT: Route = documentRoute(() => openApiDocument([...ROUTES, DOCUMENT], { tokens: false }));

/** As Express and Fastify write them. All other paths are the application's, also below `/v1`. */
const PATHS = [...new Set(ROUTES.map(({ path }) => path.replaceAll(/\{(\w+)\}/g, ':$1')))];

/** What the options are once they are checked. */
interface Mounted {
  readonly path: string;
  readonly access: GatewayAccess<unknown>;
  readonly actor: (request: unknown) => string | undefined;
}

/**
 * The gateway in your application, on Express or Fastify. Global guards apply to it, then `access`.
 *
 * @example
 * ```ts
 * DelayQueueGatewayModule.forRoot({
 *   topics: ['order.timeout'],
 *   access: (request, { topic, right }) => request.headers['x-role'] === 'shop' && right === 'publish',
 * });
 * ```
 *
 * @publicApi
 */
@Module({})
export class DelayQueueGatewayModule {
  /** @throws ConfigurationError if an option is wrong, or `access` is missing */
  static forRoot<R = GatewayHttpRequest>(options: DelayQueueGatewayOptions<R>): DynamicModule {
    const where = 'DelayQueueGatewayModule.forRoot()';
    asConfiguration(where, () => assertOptions('Its options', options, OPTIONS));
    assertAccess(where, options.access);
    assertNamesActors(where, options.actor);
    const { path = '', connection = DEFAULT_CONNECTION } = options;
    const { topics, limits } = asConfiguration(where, () => {
      assertPath(path);
      return { topics: servedTopics(options.topics), limits: checkedLimits(options) };
    });
    const { producer, receiver, admin, schedules } = tokensOf(connection);
    const handler = {
      provide: GatewayHandler,
      useFactory: (...parts: [DelayQueueProducer, DelayQueueReceiver, DelayQueueAdmin, DelayQueueSchedules]) =>
        new GatewayHandler({
          queues: { producer: parts[0], receiver: parts[1], admin: parts[2], schedules: parts[3] },
          topics,
          routes: [...ROUTES, DOCUMENT],
          limits,
          log: new Logger('DelayQueueGateway'),
        }),
      inject: [producer, receiver, admin, schedules],
    };
    const { access, actor = () => undefined } = options as DelayQueueGatewayOptions<unknown>;
    const controller = controllerAt({ path, access, actor });
    return { module: DelayQueueGatewayModule, providers: [handler, ownMount()], controllers: [controller] };
  }
}

function assertPath(path: unknown): asserts path is string {
  if (typeof path === 'string' && /^[\w\-./]*$/.test(path)) return;
  throw new InvalidArgumentError(`path must be a path such as 'queues'. Given: ${describe(path)}.`);
}

/** A controller of its own for each mount: an application may serve several connections. */
function controllerAt({ path, access, actor }: Mounted): Type {
  @WithoutSwagger()
  @Controller({ path, version: VERSION_NEUTRAL })
  class DelayQueueGatewayController implements OnModuleDestroy {
    readonly #handler: GatewayHandler;

    constructor(@Inject(GatewayHandler) handler: GatewayHandler, @Inject(HttpAdapterHost) host: HttpAdapterHost) {
      this.#handler = handler;
      leaveBodies(host, routesAt(path, PATHS));
    }

    @All(PATHS)
    async answer(@Req() asked: FrameworkRequest, @Res() answered: FrameworkResponse): Promise<void> {
      await this.#handler.handle({
        ...rawExchange(asked, answered),
        ...placeOf(asked, PATHS),
        body: givenBody(asked),
        actor: named(actor(asked)),
        may: async (topic, right) => granted(await access(asked, { topic, right })),
      });
    }

    @All(DOCUMENT.path)
    async describe(@Req() asked: FrameworkRequest, @Res() answered: FrameworkResponse): Promise<void> {
      const place = placeOf(asked, [DOCUMENT.path]);
      await this.#handler.handle({ ...rawExchange(asked, answered), ...place, body: undefined, may: nobody });
    }

    // Before the connection stops: then whoever waits is told to connect anew.
    onModuleDestroy(): void {
      this.#handler.close();
    }
  }
  return DelayQueueGatewayController;
}

/** @throws ConfigurationError */
function assertNamesActors(where: string, actor: unknown): void {
  if (actor === undefined || typeof actor === 'function') return;
  throw new ConfigurationError(
    `The option 'actor' of ${where} must be a function that says who has sent a request. Given: ${describe(actor)}.`,
  );
}

/** @throws ConfigurationError if the application has answered something else than a name */
function named(actor: unknown): string | undefined {
  return asConfiguration('The gateway', () => checkedActor("What its option 'actor' answers", actor));
}

/** Nobody needs a right for the document. */
async function nobody(): Promise<boolean> {
  return false;
}

/** @throws ConfigurationError if the application has answered something else than `GatewayAccess` allows */
function granted(answer: unknown): boolean {
  if (typeof answer === 'boolean') return answer;
  throw new ConfigurationError(
    `The option 'access' of the gateway must answer true or false. Given: ${describe(answer)}.`,
  );
}
