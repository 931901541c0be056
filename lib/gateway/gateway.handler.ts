import type { IncomingMessage, ServerResponse } from 'node:http';
import { type BodyRules, assertSaysJson, readJson, saysJson } from '../http/read-json.js';
import { sendJson } from '../http/send-json.js';
import type { Log } from '../log.js';
import type { TopicRef } from '../messages/topic.js';
import type { GatewayRight, ServedTopics } from './access.js';
import { ANSWER_SCHEMAS } from './answer-schemas.js';
import { operationOf } from './idempotency.js';
import { problemAnswer, refusal, shuttingDown, toProblem } from './problem.js';
import { REQUEST_SCHEMAS } from './request-schemas.js';
import type { Answer, Call, GatewayQueues, Route } from './route.js';
import { type FoundRoute, RouteTable } from './route-table.js';
import { SchemaCheck } from './schema.js';
import { WaitingRequests, isGone } from './waiting-requests.js';

const HEADERS: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
};

export interface GatewayHandlerOptions {
  readonly queues: GatewayQueues;
  readonly topics: ServedTopics;
  readonly routes: readonly Route[];
  /** Most requests that wait for messages at once. */
  readonly maxWaiting: number;
  /** Most bytes of a body. */
  readonly maxBody: number;
  readonly log: Pick<Log, 'warn' | 'error'>;
}

/** A request, by what its mount knows of it. */
export interface GatewayRequest {
  readonly request: IncomingMessage;
  /** Where the answer is written; called once, right before. */
  readonly response: ServerResponse;
  /** Called before the first byte is written. */
  readonly begin?: () => void;
  /** Below the place where the gateway is mounted, with a slash before it, as it was sent. */
  readonly path: string;
  /** Where it is mounted, such as `/api`. @defaultValue right at the origin */
  readonly base?: string;
  /** As it was sent, without the question mark. */
  readonly search: string;
  /** What a framework has read already. */
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

/** Answers the requests of the gateway, whatever it is mounted in. */
export class GatewayHandler {
  readonly #options: GatewayHandlerOptions;
  readonly #table: RouteTable;
  readonly #waiting: WaitingRequests;
  readonly #schemas = new SchemaCheck({ ...REQUEST_SCHEMAS, ...ANSWER_SCHEMAS });
  readonly #bodyRules: BodyRules;

  constructor(options: GatewayHandlerOptions) {
    this.#options = options;
    this.#table = new RouteTable(options.routes);
    this.#waiting = new WaitingRequests(options.maxWaiting);
    this.#bodyRules = { max: options.maxBody, tooLarge: 'BODY_TOO_LARGE', noJson: 'INVALID_JSON' };
  }

  /** Rejects only with what `may` has thrown; nothing is written then. */
  async handle(asked: GatewayRequest): Promise<void> {
    let answer: Answer;
    try {
      answer = await this.#answer(asked);
    } catch (error) {
      if (error instanceof AccessFailure) throw error.error;
      if (isGone(asked.response)) return;
      answer = this.#toAnswer(asked, error);
    }
    this.#send(asked, this.#written(asked, answer));
  }

  /** Answers whoever waits; later requests are refused. */
  close(): void {
    this.#waiting.close();
  }

  async #answer(asked: GatewayRequest): Promise<Answer> {
    const { request, path } = asked;
    const found = this.#table.find(request.method ?? '', path);
    const { route } = found;
    if (route.right === undefined) return route.run(this.#call(asked, found, { body: undefined, query: {} }));
    if (this.#waiting.isClosed) throw shuttingDown();
    assertNotForged(request, route);
    if (found.parameters['topic'] !== undefined) await this.#topic(asked, found.parameters['topic'], route.right);
    const query = this.#query(asked, route);
    const body = await this.#body(asked, route);
    return route.run(this.#call(asked, found, { body, query }));
  }

  #call(asked: GatewayRequest, { route, parameters }: FoundRoute, given: Pick<Call, 'body' | 'query'>): Call {
    const { queues, topics, log } = this.#options;
    const { request, response, actor, path, search, base = '' } = asked;
    const repeatable = { method: route.method, path: `${path}?${search}`, body: given.body };
    return {
      queues,
      served: topics,
      path: parameters,
      ...given,
      base,
      once: route.isRepeatable ? operationOf(request, repeatable) : undefined,
      actor,
      log,
      wait: async (work) => this.#waiting.wait(response, work),
      may: async (topic, right) => topics.has(topic) && this.#may(asked, topic, right),
      topic: async (name, right) => this.#topic(asked, name, right),
    };
  }

  async #topic(asked: GatewayRequest, name: string, right: GatewayRight): Promise<TopicRef> {
    const topic = this.#options.topics.get(name);
    if (topic === undefined) throw refusal('TOPIC_NOT_SERVED', `Topic '${name}' is not served here.`);
    if (await this.#may(asked, name, right)) return topic;
    throw refusal('FORBIDDEN', `You lack the right '${right}' for topic '${name}'.`);
  }

  async #may({ may }: GatewayRequest, topic: string, right: GatewayRight): Promise<boolean> {
    try {
      return await may(topic, right);
    } catch (error) {
      throw new AccessFailure(error);
    }
  }

  #query({ search }: GatewayRequest, { query }: Route): Record<string, string> {
    if (search === '' && !query) return {};
    const parameters = new URLSearchParams(search);
    const given = Object.fromEntries(parameters);
    const names = [...parameters.keys()];
    const twice = names.find((name, i) => names.indexOf(name) < i);
    if (twice !== undefined) throw refusal('INVALID_ARGUMENT', `The query has '${twice}' more than once.`);
    this.#schemas.check('The query', query ?? { type: 'object', additionalProperties: false }, given);
    return given;
  }

  async #body({ request, body: parsed }: GatewayRequest, route: Route): Promise<unknown> {
    if (!route.body) return undefined;
    const isEmpty = request.headers['content-length'] === '0' || !hasBody(request);
    if (isEmpty && route.isBodyOptional) return undefined;
    if (isEmpty) throw refusal('INVALID_ARGUMENT', 'The body is missing. Send JSON.');
    assertSaysJson(request);
    const body = parsed === undefined && !request.readableEnded ? await readJson(request, this.#bodyRules) : parsed;
    this.#schemas.check('The body', route.body, body);
    return body;
  }

  #toAnswer({ request, path }: GatewayRequest, error: unknown): Answer {
    const problem = toProblem(error);
    if (problem.code === 'INTERNAL') {
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
      this.#options.log.error(`The gateway could not answer ${request.method} ${path}: ${text}`);
    }
    return problemAnswer(problem, error);
  }

  /** What a schema or a serializer has made may be nothing that JSON can write. */
  #written(asked: GatewayRequest, answer: Answer): Answer {
    try {
      return { ...answer, text: answer.text ?? JSON.stringify(answer.content) };
    } catch (error) {
      answer.onLost?.();
      return this.#toAnswer(asked, error);
    }
  }

  #send({ response, begin }: GatewayRequest, answer: Answer): void {
    const { onLost } = answer;
    if (isGone(response)) {
      onLost?.();
      return;
    }
    if (onLost) callIfLost(response, onLost);
    begin?.();
    const headers = this.#waiting.isClosed ? { ...answer.headers, connection: 'close' } : answer.headers;
    sendJson(response, { ...answer, headers: { ...HEADERS, ...headers } });
  }
}

/** Calls if a connection ends before the system has taken all of an answer. */
function callIfLost(response: ServerResponse, onLost: () => void): void {
  const { socket } = response;
  response.once('close', onLost);
  // A write that fails finishes the response as well, on a connection that is gone. Node.js ends a connection in a listener of its own.
  response.prependOnceListener('finish', () => {
    if (!socket?.destroyed) response.off('close', onLost);
  });
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
}

/** A browser asks before it sends JSON to another site, and before it sends another method than POST. */
function assertNotForged({ headers }: IncomingMessage, { method }: Route): void {
  const site = headers['sec-fetch-site'];
  if (method !== 'POST' || (site !== 'cross-site' && site !== 'same-site')) return;
  if (saysJson(headers['content-type'])) return;
  throw refusal('FORBIDDEN', 'A page of another site has made a browser send this, so it was refused.');
}
