import { enumerate } from '../../checks/describe.js';
import { counted } from '../../log.js';
import { within } from '../../time/deadline.js';
import type { ConsumerContext } from '../consumer-context.js';
import type { TopicConsumer } from './topic-consumer.js';

/** Time limit for confirming outcomes after the last handler has ended, in milliseconds. */
const SETTLE_TIMEOUT = 2000;

type Finishing = Pick<TopicConsumer, 'calls' | 'decided' | 'releaseDeliveries' | 'settled' | 'unfinished'>;

export interface FinishOptions {
  readonly context: Pick<ConsumerContext, 'clock' | 'log'>;
  /** Time limit for handlers, in milliseconds. */
  readonly timeout: number;
  /** Resolves once nothing more is claimed; never rejects. */
  readonly handedOver: Promise<void>;
  /** Call that waits for that, such as `app.close()`. */
  readonly call: string;
  /** Ends the wait: what still runs goes on. */
  readonly signal?: AbortSignal;
}

/**
 * Lets the handlers of some topics finish, gives back the messages of those that do not finish in time, and waits a limited time for the
 * outcomes to be confirmed. Never rejects.
 */
export async function finishHandlers(consumers: readonly Finishing[], options: FinishOptions): Promise<void> {
  const { context, timeout, handedOver, signal } = options;
  const { clock, log } = context;
  const atMost = async (milliseconds: number, work: Promise<unknown>): Promise<void> => {
    await within(clock, milliseconds, work, { signal }).catch(() => {});
  };
  // Messages of the last claims are handled too, so nothing is idle before those are answered.
  const decided = handedOver.then(() => Promise.all(consumers.map((consumer) => consumer.decided())));
  await atMost(timeout, decided);
  if (signal?.aborted) return;
  if (consumers.some(({ calls }) => calls > 0)) {
    log.warn(describeUnfinished(consumers, options));
    for (const consumer of consumers) consumer.releaseDeliveries();
  }
  await atMost(SETTLE_TIMEOUT, Promise.all(consumers.map((consumer) => consumer.settled())));
}

function describeUnfinished(consumers: readonly Finishing[], { timeout, call }: FinishOptions): string {
  const calls = consumers.reduce((sum, consumer) => sum + consumer.calls, 0);
  const messages = consumers.flatMap(({ unfinished }) => unfinished);
  const which = messages.length === 0 ? '' : `: ${enumerate(messages)}`;
  const back = messages.length === 1 ? 'its message is' : calls === 1 ? 'its messages are' : 'their messages are';
  // It is the last one that runs, since it cannot end before this call does.
  const advice = calls === 1 ? `. If it awaits ${call}, it waits for itself: call ${call} there without await` : '';
  return (
    `${counted(calls, 'handler')} still ${calls === 1 ? 'runs' : 'run'} after ${timeout} ms; ` +
    `${back} given back${which}${advice}`
  );
}
