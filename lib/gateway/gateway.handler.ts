import type { IncomingMessage } from 'node:http';
import { MAX_CONSUMER_LENGTH } from '../checks/limits.js';
import { objectOf } from '../checks/rules.js';
import { foreignPage } from '../http/foreign-page.js';
import { type BodyRules, readJson, saysJson } from '../http/read-json.js';
import {
  type Answer,
  type Answering,
  ApplicationFailure,
  type JsonAnswer,
  respond,
  type ServedRequest,
} from '../http/respond.js';
import { type FoundRoute, Router } from '../http/router.js';
import type { Log } from '../log.js';
import type { TopicRef } from '../index.js';
import type { GatewayRight, ServedTopics } from './access.js';
import { operationOf } from './idempotency.js';
import type { GatewayLimits } from './limits.js';
import { problemAnswer, refusal, toProblem } from './problem.js';
import type { Call, GatewayQueues, Route } from './route.js';
import { WaitingRequests } from './waiting-requests.js';

const HEADERS = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' } as const;
const CLOSING_HEADERS = { ...HEADERS, connection: 'close' } as const;

export interface GatewayHandlerOptions {
  readonly queues: GatewayQueues;
  readonly topics: ServedTopics;
  readonly routes: readonly Route[];
  readonly limits: GatewayLimits;
  readonly log: Pick<Log, 'warn' | 'error'>;
}

export interface GatewayRequest extends ServedRequest {
  /** Name of the sender, for the audit log. */
  readonly actor?: string | undefined;
  readonly may: (topic: string, right: GatewayRight) => Promise<boolean>;
}

const NO_QUERY = objectOf({});

/** Answers the requests of the gateway, whatever it is mounted in. */
export class GatewayHandler implements Answering {
  readonly name = 'gateway';
  readonly log: GatewayHandlerOptions['log'];
  readonly #options: GatewayHandlerOptions;
  readonly #router: Router<Route>;
  readonly #waiting: WaitingRequests;
  readonly #bodyRules: BodyRules;
  #isClosing = false;

  constructor(options: GatewayHandlerOptions) {
    this.#options = options;
    this.log = options.log;
    const { maxWaiting, maxBody } = options.limits;
    this.#router = new Router(options.routes);
    this.#waiting = new WaitingRequests(maxWaiting);
    this.#bodyRules = { max: maxBody, tooLarge: 'BODY_TOO_LARGE', noJson: 'INVALID_JSON' };
  }

  /** Rejects only with an error that `may` threw; then nothing is written. */
  async handle(asked: GatewayRequest): Promise<void> {
    await respond(asked, this, async () => this.#answer(asked));
  }

  headers(): Readonly<Record<string, string>> {
    return this.#isClosing ? CLOSING_HEADERS : HEADERS;
  }

  told(error: unknown): JsonAnswer {
    return problemAnswer(toProblem(error), error);
  }

  /** Call this when the process begins to shut down: clients that are answered from now on have to connect anew, to another process. */
  close(): void {
    this.#isClosing = true;
  }

  async #answer(asked: GatewayRequest): Promise<Answer> {
    const { request, path } = asked;
    const found = this.#router.find(request.method ?? '', path);
    if (!found) throw refusal('NOT_FOUND', 'There is no such route; GET /openapi.json has all of them.');
    const { route, parameters } = found;
    const { topic: name } = parameters;
    const { right } = route;
    if (right === undefined)
      return route.run(this.#call(asked, found, { query: {}, body: undefined, seen: undefined }));
    assertNotForged(asked, route);
    // A client that lacks the right does not have to send a body.
    const topic = name === undefined ? '' : await this.#topic(asked, name, right);
    const query = queryOf(asked, route);
    const call = this.#call(asked, found, { query, body: await this.#body(asked, route), seen: undefined });
    const { topics } = this.#options;
    const seen = await route.sees({
      ...call,
      topic,
      topics: topics.keys(),
      may: async (other, another = right) => topics.has(other) && mayDo(asked, other, another),
      served: async (other) => this.#topic(asked, other, right),
    });
    return route.run({ ...call, seen });
  }

  #call(
    asked: GatewayRequest,
    { route, parameters }: FoundRoute<Route>,
    about: Pick<Call<unknown, unknown, unknown>, 'query' | 'body' | 'seen'>,
  ): Call<unknown, unknown, unknown> {
    const { queues, log } = this.#options;
    const { request, actor, path, search, base = '' } = asked;
    const repeatable = { actor, method: route.method, path: `${path}?${search}`, body: about.body };
    return {
      ...about,
      queues,
      log,
      id: parameters['id'] ?? '',
      base,
      operation: route.isRepeatable ? operationOf(request, repeatable) : undefined,
      by: { actor },
      caller: callerOf(request, actor),
      wait: async (work) => this.#waiting.wait(request, work),
    };
  }

  async #topic(asked: GatewayRequest, name: string, right: GatewayRight): Promise<TopicRef> {
    const topic = this.#options.topics.get(name);
    if (topic === undefined) throw refusal('TOPIC_NOT_SERVED', `Topic '${name}' is not served here.`);
    if (await mayDo(asked, name, right)) return topic;
    throw refusal('FORBIDDEN', `You lack the right '${right}' for topic '${name}'.`);
  }

  async #body({ request, body: given }: GatewayRequest, route: Route): Promise<unknown> {
    if (!route.body) return undefined;
    const body = await readJson(request, this.#bodyRules, given);
    if (body !== undefined) return route.body('The body', body as object);
    if (route.isBodyOptional) return {};
    throw refusal('INVALID_ARGUMENT', 'The body is missing. Send JSON.');
  }
}

function callerOf({ socket }: IncomingMessage, actor = socket.remoteAddress ?? 'unknown'): string {
  return actor.slice(0, MAX_CONSUMER_LENGTH);
}

async function mayDo({ may }: GatewayRequest, topic: string, right: GatewayRight): Promise<boolean> {
  try {
    return await may(topic, right);
  } catch (error) {
    throw new ApplicationFailure(error);
  }
}

/** @throws InvalidArgumentError, and a Refusal if it has a parameter twice */
function queryOf({ search }: GatewayRequest, { query = NO_QUERY }: Route): unknown {
  if (search === '' && query === NO_QUERY) return {};
  const parameters = new URLSearchParams(search);
  const names = [...parameters.keys()];
  const twice = names.find((name, i) => names.indexOf(name) < i);
  if (twice !== undefined) throw refusal('INVALID_ARGUMENT', `The query has '${twice}' more than once.`);
  return query('The query', Object.fromEntries(parameters));
}

/** A browser asks before it sends JSON to another site, and before it sends another method than POST. */
function assertNotForged({ request, host }: GatewayRequest, { method }: Route): void {
  if (method !== 'POST' || saysJson(request.headers['content-type'])) return;
  const foreign = foreignPage(request, host);
  if (foreign !== undefined) throw refusal('FORBIDDEN', foreign);
}
