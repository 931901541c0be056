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

/** What the gateway serves. */
export interface GatewayQueues {
  readonly producer: DelayQueueProducer;
  readonly receiver: DelayQueueReceiver;
  readonly admin: DelayQueueAdmin;
  readonly schedules: DelayQueueSchedules;
}

/** A request that has a route, and whose body and query fit it. */
interface Fitting<B, Q> {
  readonly queues: GatewayQueues;
  /** What stands in the path in the place of `{id}`, decoded; empty if the path has none. */
  readonly id: string;
  readonly query: Q;
  readonly body: B;
  /** Names the operation, if it may be asked for again. */
  readonly operation: string | undefined;
}

/** What a route finds out of what the request is about. */
export interface Asked<B, Q> extends Fitting<B, Q> {
  /** The one that the path names, which whoever asks has the right for; empty if it names none. */
  readonly topic: TopicRef;
  /** Names of all topics that are served. */
  readonly topics: Iterable<string>;
  /** Answers whether whoever asks has a right for a topic that is served. @param right that of the route, if it is left out */
  readonly may: (topic: string, right?: GatewayRight) => Promise<boolean>;
  /**
   * The topic that is served under a name.
   *
   * @throws Refusal if it is not served, or whoever asks lacks the right of the route
   */
  readonly served: (name: string) => Promise<TopicRef>;
}

/** A request that is to be answered. */
export interface Call<B, Q, S> extends Fitting<B, Q> {
  /** What it is about. */
  readonly seen: S;
  readonly log: Pick<Log, 'warn' | 'error'>;
  /** What the paths of the routes are below, such as `/api`; empty if they are right at the origin. */
  readonly base: string;
  /** Who it is, for the audit log. */
  readonly by: { readonly actor: string | undefined };
  /** What whoever receives is called, if they do not say: who it is, or else the address that the request comes from. */
  readonly caller: string;
  /** Waits for messages, until whoever asks has gone. */
  wait<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T>;
}

/** How an answer looks. */
export interface AnswerShape {
  readonly description: string;
  /** The types that it may have. */
  readonly of: readonly [AnswerName, ...AnswerName[]];
}

/** A route: it is served, checked and documented by what stands here. */
export interface RouteOf<B, Q, S> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** With `{topic}` and `{id}` as parameters. */
  readonly path: string;
  /** Names the operation for those who make clients from the document. */
  readonly name: string;
  readonly summary: string;
  readonly description?: string;
  /** `undefined`: nobody needs a right for it, nor a token. If the path has `{topic}`, the right is asked for before anything else. */
  readonly right: GatewayRight | undefined;
  /** Parameters of the query, all of them texts. @defaultValue it takes none */
  readonly query?: Rule<object, Q>;
  /** @defaultValue it takes none */
  readonly body?: Rule<object, B>;
  /** Whether the body may be left out, which is the same as an empty object. @defaultValue false */
  readonly isBodyOptional?: boolean;
  /** Whether it takes an `Idempotency-Key`. @defaultValue false */
  readonly isRepeatable?: boolean;
  /** By their status. */
  readonly answers: Readonly<Record<number, AnswerShape>>;
  /** What it can be refused with beside what every route can be. */
  readonly problems: readonly ProblemCode[];
  /**
   * What the request is about: asked before `run`, which learns of no topic in another way, and cannot ask for rights.
   *
   * @throws Refusal if whoever asks lacks the right for it
   */
  sees(asked: Asked<B, Q>): S | Promise<S>;
  run(call: Call<B, Q, S>): Promise<Answer>;
}

export type { Answer };

export type Route = RouteOf<unknown, unknown, unknown>;

/** Has the compiler check that a route works with what its schemas let through. */
export function route<B = undefined, Q = Readonly<Record<string, never>>, S = never>(
  definition: RouteOf<B, Q, S>,
): Route {
  return definition;
}

/** For what tells of no topic. */
export function noTopic(): undefined {
  return undefined;
}

/** The topic that the path names. */
export function itsTopic({ topic }: { readonly topic: TopicRef }): TopicRef {
  return topic;
}
