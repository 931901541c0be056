import type { DelayQueueAdmin } from '../admin/delay-queue.admin.js';
import type { JsonAnswer } from '../http/send-json.js';
import type { Log } from '../log.js';
import type { TopicRef } from '../messages/topic.js';
import type { DelayQueueProducer } from '../producer/delay-queue.producer.js';
import type { DelayQueueReceiver } from '../receiver/delay-queue.receiver.js';
import type { DelayQueueSchedules } from '../schedules/delay-queue.schedules.js';
import type { GatewayRight, ServedTopics } from './access.js';
import type { ProblemCode } from './problem.js';
import type { Schema } from './schema.js';

/** What the gateway serves. */
export interface GatewayQueues {
  readonly producer: DelayQueueProducer;
  readonly receiver: DelayQueueReceiver;
  readonly admin: DelayQueueAdmin;
  readonly schedules: DelayQueueSchedules;
}

/** A request that has a route, and whose body and query fit it. */
export interface Call {
  readonly queues: GatewayQueues;
  readonly served: ServedTopics;
  /** Waits for messages, until whoever asks has gone or the gateway shuts down. */
  wait<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T>;
  readonly log: Pick<Log, 'warn' | 'error'>;
  /** What stands in the path in the place of `{name}`, decoded. */
  readonly path: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  readonly body: unknown;
  /** What the paths of the routes are below, such as `/api`; empty if they are right at the origin. */
  readonly base: string;
  /** Names the operation, if it may be asked for again. */
  readonly once: string | undefined;
  /** Who it is, for the audit log. */
  readonly actor: string | undefined;
  /** Answers whether whoever asks has a right for a topic that is served. */
  may(topic: string, right: GatewayRight): Promise<boolean>;
  /**
   * The topic that is served under a name.
   *
   * @throws Refusal if it is not served, or whoever asks lacks the right
   */
  topic(name: string, right: GatewayRight): Promise<TopicRef>;
}

/** What a route answers. */
export interface Answer extends JsonAnswer {
  /** Called if whoever asked has gone before the answer was written. */
  readonly onLost?: () => void;
}

/** How an answer looks. */
export interface AnswerShape {
  readonly description: string;
  readonly schema: Schema;
}

/** A route: it is served, checked and documented by what stands here. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** With parameters as `{name}`. */
  readonly path: string;
  /** Names the operation for those who make clients from the document. */
  readonly name: string;
  readonly summary: string;
  readonly description?: string;
  /** `undefined`: nobody needs a right for it, nor a token. If the path has `{topic}`, the right is asked for before anything else. */
  readonly right: GatewayRight | undefined;
  /** Parameters of the query, all of them texts. */
  readonly query?: Schema;
  readonly body?: Schema;
  /** Whether the body may be left out. @defaultValue false */
  readonly isBodyOptional?: boolean;
  /** Whether it takes an `Idempotency-Key`. @defaultValue false */
  readonly isRepeatable?: boolean;
  /** By their status. */
  readonly answers: Readonly<Record<number, AnswerShape>>;
  /** What it can be refused with beside what every route can be. */
  readonly problems: readonly ProblemCode[];
  readonly run: (call: Call) => Promise<Answer>;
}
