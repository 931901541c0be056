import { type DynamicModule, Logger, Module } from '@nestjs/common';
import type {
  DelayQueueAdmin,
  DelayQueueProducer,
  DelayQueueReceiver,
  DelayQueueSchedules,
  TopicRef,
} from '../index.js';
import { describe } from '../checks/describe.js';
import { asConfiguration } from '../checks/validate.js';
import { DEFAULT_CONNECTION, tokensOf } from '../nest/decorators/delay-queue.tokens.js';
import { ConfigurationError } from '../errors/options.errors.js';
import { checkedActor } from '../events/audit-log.js';
import type { HttpRequest } from '../http/framework.js';
import { assertMountOptions, mount } from '../http/mount.js';
import { type GatewayAccess, RIGHTS, servedTopics } from './access.js';
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
  /** Path above its routes, `/v1/…` and `/openapi.json`, in addition to the global prefix of the application. @defaultValue '' */
  path?: string;
  /** Name of the connection that it serves. @defaultValue 'default' */
  connection?: string;
  /**
   * The topics that it serves, one at least, each by its name or as `topic()` makes it, with its schema, which is checked at a publish and
   * before a delivery.
   *
   * @defaultValue none
   */
  topics: readonly TopicRef[];
  /**
   * Decides who has which right for which topic. It is called for each request, after the guards of the application.
   * @defaultValue none: required, the boot fails without it
   */
  access: GatewayAccess<R>;
  /**
   * Returns the name of a request's sender, for the audit log: 1 to 256 characters. It is called after the guards of the application; an
   * error that it throws ends the request, as in a guard.
   *
   * @defaultValue nobody is named
   * @see docs/reference/admin.md#audit-log
   */
  actor?: (request: R) => string | undefined;
  /** Most requests that wait for messages at once. @defaultValue 1,000 */
  maxWaiting?: number;
  /** Largest body of a request, in bytes; limits of the application's body parsers do not count here. @defaultValue 8 MiB */
  maxBody?: number;
}

/**
 * A request of Express or Fastify, with the parts that the gateway relies on. Anything that your guards add to it, such as `user`, is there
 * too.
 *
 * @publicApi
 */
export type GatewayHttpRequest = HttpRequest;

const RULES = {
  names: ['path', 'connection', 'topics', 'access', 'actor', 'maxWaiting', 'maxBody'],
  path: /^[\w\-./]*$/,
  examplePath: 'queues',
  access: `it has a right for a topic: (request, { topic, right }) => boolean. Rights are ${RIGHTS.map((one) => `'${one}'`).join(', ')}`,
} as const;

const DOCUMENT: Route = documentRoute(() => openApiDocument([...ROUTES, DOCUMENT], { tokens: false }));

/** Paths in the syntax of Express and Fastify. All other paths are the application's, also below `/v1`. */
const PATHS = [...new Set([...ROUTES, DOCUMENT].map(({ path }) => path.replaceAll(/\{(\w+)\}/g, ':$1')))];

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
    assertMountOptions(where, options, RULES);
    assertNamesActors(where, options.actor);
    const { path = '', connection = DEFAULT_CONNECTION } = options;
    const { topics, limits } = asConfiguration(where, () => ({
      topics: servedTopics(options.topics),
      limits: checkedLimits(options),
    }));
    const { access, actor = () => undefined } = options as DelayQueueGatewayOptions<unknown>;
    const { producer, receiver, admin, schedules } = tokensOf(connection);
    return mount<[DelayQueueProducer, DelayQueueReceiver, DelayQueueAdmin, DelayQueueSchedules], GatewayHandler>({
      module: DelayQueueGatewayModule,
      path,
      paths: PATHS,
      parts: [producer, receiver, admin, schedules],
      handler: (...parts) =>
        new GatewayHandler({
          queues: { producer: parts[0], receiver: parts[1], admin: parts[2], schedules: parts[3] },
          topics,
          routes: [...ROUTES, DOCUMENT],
          limits,
          log: new Logger('DelayQueueGateway'),
        }),
      // Before the connection stops: then clients that wait are told to connect anew.
      closesIn: 'onModuleDestroy',
      answer: async (handler, served, asked) =>
        handler.handle({
          ...served,
          // The document needs neither a right nor a name.
          actor: served.path === DOCUMENT.path ? undefined : named(actor(asked)),
          may: async (topic, right) => granted(await access(asked, { topic, right })),
        }),
    });
  }
}

/** @throws ConfigurationError */
function assertNamesActors(where: string, actor: unknown): void {
  if (actor === undefined || typeof actor === 'function') return;
  throw new ConfigurationError(
    `The option 'actor' of ${where} must be a function that says who has sent a request. Given: ${describe(actor)}.`,
  );
}

/** @throws ConfigurationError if the application returned something other than a name */
function named(actor: unknown): string | undefined {
  return asConfiguration('The gateway', () => checkedActor("What its option 'actor' answers", actor));
}

/** @throws ConfigurationError if the application returned something other than `GatewayAccess` allows */
function granted(answer: unknown): boolean {
  if (typeof answer === 'boolean') return answer;
  throw new ConfigurationError(
    `The option 'access' of the gateway must answer true or false. Given: ${describe(answer)}.`,
  );
}
