import type {
  DelayQueueAdmin,
  DelayQueueProducer,
  DelayQueueReceiver,
  DelayQueueSchedules,
  TopicRef,
} from '../index.js';
import type { Rule } from '../checks/rules.js';
import type { Answer } from '../http/respond.js';
import type { Log } from '../log.js';
import type { GatewayRight } from './access.js';
import type { AnswerName } from './answer-table.js';
import type { ProblemCode } from './problem.js';

/** Services behind the gateway. */
export interface GatewayQueues {
  readonly producer: DelayQueueProducer;
  readonly receiver: DelayQueueReceiver;
  readonly admin: DelayQueueAdmin;
  readonly schedules: DelayQueueSchedules;
}

/** A request that has a route, and whose body and query fit it. */
interface Fitting<B, Q> {
  readonly queues: GatewayQueues;
  /** Decoded value of `{id}` in the path; empty if the path has none. */
  readonly id: string;
  readonly query: Q;
  readonly body: B;
  /** Name of the operation, if it can be requested again. */
  readonly operation: string | undefined;
}

/** A request from which a route finds out what it is about. */
export interface Asked<B, Q> extends Fitting<B, Q> {
  /** Topic that the path names, for which the sender has the right; empty if it names none. */
  readonly topic: TopicRef;
  /** Names of all topics that are served. */
  readonly topics: Iterable<string>;
  /** Returns whether the sender has a right for a served topic. @param right defaults to the right of the route */
  readonly may: (topic: string, right?: GatewayRight) => Promise<boolean>;
  /**
   * Returns the topic that is served under a name.
   *
   * @throws Refusal if it is not served, or the sender lacks the right of the route
   */
  readonly served: (name: string) => Promise<TopicRef>;
}

/** A request that is to be answered. */
export interface Call<B, Q, S> extends Fitting<B, Q> {
  /** Subject of the request, as `sees` found it. */
  readonly seen: S;
  readonly log: Pick<Log, 'warn' | 'error'>;
  /** Path above those of the routes, such as `/api`; empty if they are right at the origin. */
  readonly base: string;
  /** Sender of the request, for the audit log. */
  readonly by: { readonly actor: string | undefined };
  /** Default name of a receiver: the name of the sender, or else the address that the request comes from. */
  readonly caller: string;
  /** Waits for messages, until the client has gone. */
  wait<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T>;
}

/** Shape of an answer. */
export interface AnswerShape {
  readonly description: string;
  /** Types that it can have. */
  readonly of: readonly [AnswerName, ...AnswerName[]];
}

/** A route, with everything that is needed to serve, check and document it. */
export interface RouteOf<B, Q, S> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path with `{topic}` and `{id}` as parameters. */
  readonly path: string;
  /** Name of the operation, for those who generate clients from the document. */
  readonly name: string;
  readonly summary: string;
  readonly description?: string;
  /** Required right; `undefined`: neither a right nor a token. If the path has `{topic}`, the right is checked before anything else. */
  readonly right: GatewayRight | undefined;
  /** Parameters of the query, all of them strings. @defaultValue it takes none */
  readonly query?: Rule<object, Q>;
  /** @defaultValue it takes none */
  readonly body?: Rule<object, B>;
  /** Whether the body may be left out, which is the same as an empty object. @defaultValue false */
  readonly isBodyOptional?: boolean;
  /** Whether it takes an `Idempotency-Key`. @defaultValue false */
  readonly isRepeatable?: boolean;
  /** Answers by status. */
  readonly answers: Readonly<Record<number, AnswerShape>>;
  /** Problems of this route, beside those of every route. */
  readonly problems: readonly ProblemCode[];
  /**
   * Finds out what the request is about. It runs before `run`, which learns of topics only this way, and cannot ask for rights.
   *
   * @throws Refusal if the sender lacks the right for it
   */
  sees(asked: Asked<B, Q>): S | Promise<S>;
  run(call: Call<B, Q, S>): Promise<Answer>;
}

export type { Answer };

export type Route = RouteOf<unknown, unknown, unknown>;

/** Makes the compiler check that a route works with the values that its schemas let through. */
export function route<B = undefined, Q = Readonly<Record<string, never>>, S = never>(
  definition: RouteOf<B, Q, S>,
): Route {
  return definition;
}

/** `sees` of routes that are about no topic. */
export function noTopic(): undefined {
  return undefined;
}

/** Returns the topic that the path names. */
export function itsTopic({ topic }: { readonly topic: TopicRef }): TopicRef {
  return topic;
}
