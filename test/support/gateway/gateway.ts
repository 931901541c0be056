import type { TopicOptions } from 'nestjs-delay-queue';

/** May do everything. */
export const TOKEN = 'a-token-of-tests-that-may-do-everything';

/** May only look. */
export const READ_TOKEN = 'a-token-of-tests-that-may-only-look';

export interface GatewaySettings {
  readonly redisUrl: string;
  readonly topics: readonly string[];
  /** In an application: how soon others see that it is gone. @defaultValue the library's */
  readonly maxIdleWait?: number;
  /** Of each topic. @defaultValue 2 partitions */
  readonly topicOptions?: TopicOptions;
  /** Until a gateway whose Redis is away says so, in milliseconds. @defaultValue the library's */
  readonly publishTimeout?: number;
}

/** A gateway that serves. */
export interface Gateway {
  readonly url: string;
  close(): Promise<void>;
}
