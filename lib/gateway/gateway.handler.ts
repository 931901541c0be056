import type { IncomingMessage, ServerResponse } from 'node:http';
import { MAX_CONSUMER_LENGTH } from '../checks/limits.js';
import { objectOf } from '../checks/rules.js';
import { isGone, whenLost } from '../http/carrier.js';
import { foreignPage } from '../http/foreign-page.js';
import { type BodyRules, readJson, saysJson } from '../http/read-json.js';
import { sendJson } from '../http/send-json.js';
import type { Log } from '../log.js';
import type { TopicRef } from '../messages/topic.js';
import type { GatewayRight, ServedTopics } from './access.js';
import { operationOf } from './idempotency.js';
import type { GatewayLimits } from './limits.js';
import { problemAnswer, refusal, toProblem } from './problem.js';
import type { Answer, Call, GatewayQueues, Route } from './route.js';
import { type FoundRoute, Router } from './router.js';
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

/** A request, by what its mount knows of it. */
export interface GatewayRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** That whoever asks knows. @defaultValue the one that the request names */
  readonly host?: string | undefined;
  /** Called once, right before the answer is written. */
  readonly begin?: () => void;
  /** Below the place where the gateway is mounted, with a slash before it, as it was sent. */
  readonly path: string;
  /** Where it is mounted, such as `/api`. @defaultValue right at the origin */
  readonly base?: string;
  /** As it was sent, without the question mark. */
  readonly search: string;
  /** What a parser of the application has made of the body, if one has read it: its bytes, or a value. */
  readonly body: unknown;
  /** Who it is, for the audit log. */
  readonly actor?: string | undefined;
  readonly may: (topic: string, right: GatewayRight) => Promise<boolean>;
}

/** What an application's `access` has thrown: the application answers it. */
class AccessFailure extends Error {
  constructor(readonly error: unknown) {
    super('access has thrown');
  }
}

const NO_QUERY = objectOf({});

/** Answers the requests of the gateway, whatever it is mounted in. */
export class GatewayHandler {
  readonly #options: GatewayHandlerOptions;
  readonly #router: Router;
  readonly #waiting: WaitingRequests;
  readonly #bodyRules: BodyRules;
  #isClosing = false;

  constructor(options: GatewayHandlerOptions) {
    this.#options = options;
    const { maxWaiting, maxBody } = options.limits;
    this.#router = new Router(options.routes);
    this.#waiting = new WaitingRequests(maxWaiting);
    this.#bodyRules = { max: maxBody, tooLarge: 'BODY_TOO_LARGE', noJson: 'INVALID_JSON' };
  }

  /** Rejects only with what `may` has thrown; nothing is written then. */
  async handle(asked: GatewayRequest): Promise<void> {
    let answer: Answer;
    try {
      answer = await this.#answer(asked);
      // What a schema or a serializer has made may be nothing that JSON can write.
      if (answer.text === undefined) answer = { ...answer, text: JSON.stringify(answer.content) };
    } catch (error) {
      if (error instanceof AccessFailure) throw error.error;
      if (isGone(asked.request)) return;
      answer = this.#toAnswer(asked, error);
    }
    this.#send(asked, answer);
  }

  /** To be called when the process begins to shut down: those who are answered from now on are to connect anew, to another one. */
  close(): void {
    this.#isClosing = true;
  }

  async #answer(asked: GatewayRequest): Promise<Answer> {
    const { request, path } = asked;
    const found = this.#router.find(request.method ?? '', path);
    const { route, parameters } = found;
    const { topic: name } = parameters;
    if (route.right === undefined)
      return route.run(this.#call(asked, found, { topic: '', query: {}, body: undefined }));
    assertNotForged(asked, route);
    const topic = name === undefined ? '' : await this.#topic(asked, name, route.right);
    const query = queryOf(asked, route);
    const body = await this.#body(asked, route);
    return route.run(this.#call(asked, found, { topic, query, body }));
  }

  #call(
    asked: GatewayRequest,
    { route, parameters }: FoundRoute,
    { topic, query, body }: Pick<Call<unknown, unknown>, 'topic' | 'query' | 'body'>,
  ): Call<unknown, unknown> {
    const { queues, topics, log } = this.#options;
    const { request, actor, path, search, base = '' } = asked;
    const repeatable = { actor, method: route.method, path: `${path}?${search}`, body };
    return {
      queues,
      topics: topics.keys(),
      log,
      topic,
      id: parameters['id'] ?? '',
      query,
      body,
      base,
      operation: route.isRepeatable ? operationOf(request, repeatable) : undefined,
      by: { actor },
      caller: callerOf(request, actor),
      wait: async (work) => this.#waiting.wait(request, work),
      may: async (name, right) => topics.has(name) && mayDo(asked, name, right),
      served: async (name, right) => this.#topic(asked, name, right),
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

  #toAnswer({ request, path }: GatewayRequest, error: unknown): Answer {
    const problem = toProblem(error);
    if (problem.code === 'INTERNAL') {
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
      this.#options.log.error(`The gateway could not answer ${request.method} ${path}: ${text}`);
    }
    return problemAnswer(problem, error);
  }

  #send({ request, response, begin }: GatewayRequest, answer: Answer): void {
    const { onLost } = answer;
    if (isGone(request)) {
      onLost?.();
      return;
    }
    if (onLost) whenLost(request, response, onLost);
    begin?.();
    sendJson(response, answer, this.#isClosing ? CLOSING_HEADERS : HEADERS);
  }
}

function callerOf({ socket }: IncomingMessage, actor = socket.remoteAddress ?? 'unknown'): string {
  return actor.slice(0, MAX_CONSUMER_LENGTH);
}

async function mayDo({ may }: GatewayRequest, topic: string, right: GatewayRight): Promise<boolean> {
  try {
    return await may(topic, right);
  } catch (error) {
    throw new AccessFailure(error);
  }
}

/** @throws InvalidArgumentError, and a Refusal if it has something twice */
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
