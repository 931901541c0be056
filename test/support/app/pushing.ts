import { type DelayQueueModuleOptions, type PushOptions, type TopicOptions } from 'nestjs-delay-queue';
import { onTestFinished } from 'vitest';
import { PushReceiver } from '../servers/push-receiver.js';
import type { Bed, RunningApp } from './bed.js';

export const PUSHED = 'order.paid';

export const SECRET = `whsec_${Buffer.alloc(32, 'a secret of the test').toString('base64')}`;

export interface PushSetup {
  /** Beside `url`, `secret` and `allowPrivate`. */
  readonly push?: Partial<PushOptions>;
  readonly topic?: TopicOptions;
  readonly options?: DelayQueueModuleOptions;
}

/** Starts an application that pushes a topic to a receiver of the test's own. */
export async function startPushing(
  bed: Bed,
  { push, topic, options }: PushSetup = {},
): Promise<{ app: RunningApp; receiver: PushReceiver }> {
  const receiver = await PushReceiver.start();
  onTestFinished(async () => receiver.stop());
  const backoff = { type: 'fixed', delay: 20 } as const;
  const app = await bed.start({
    options: {
      ...options,
      topics: {
        [PUSHED]: {
          partitions: 1,
          backoff,
          ...topic,
          push: { url: receiver.url, secret: SECRET, allowPrivate: true, ...push },
        },
      },
    },
  });
  return { app, receiver };
}
