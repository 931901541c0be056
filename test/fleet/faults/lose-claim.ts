import type { Scene } from './scene.js';
import { TOPIC } from './programs/config.js';

/** Long enough for a replica to be detached, or a snapshot to be taken; milliseconds. */
const UNTIL_CLAIMED = 3000;
const LONG_HANDLER = 8000;

/** How the servers forget. */
export interface LosingData {
  /** From now on they do not keep what they do. */
  readonly before: () => Promise<void>;
  /** They forget it. */
  readonly after: () => Promise<void>;
}

/**
 * A process claims messages, stops, and Redis forgets the claims. Once its session has ended another process claims them anew.
 * While that one's handlers run, the first goes on and settles: the checker finds an ack that took effect.
 *
 * @param session how long a session lasts, in milliseconds
 * @returns the process that was stopped, and how long handlers take at most, in milliseconds
 */
export async function loseClaim(
  scene: Scene,
  data: LosingData,
  session: number,
): Promise<{ first: string; handlerTime: number }> {
  // Heartbeats that are rarer would only make it longer.
  const options = { handlerTime: LONG_HANDLER, maxIdleWait: 1000, failures: 0 };
  const first = await scene.startConsumer(options);
  const producer = await scene.startProducer({
    rate: 50,
    minDelay: UNTIL_CLAIMED,
    maxDelay: UNTIL_CLAIMED,
    cancellations: 0,
  });
  await scene.pause(1000);
  await scene.endProducers();
  await data.before();
  const from = scene.now();
  const admin = await scene.admin();
  // A handler that began only later would run beside the other one.
  const published = scene.recorded(producer, 'publish-confirmed');
  await scene.expectSoon('no-claims', 'every handler to begin', 2 * UNTIL_CLAIMED, async () => {
    return scene.recorded(first, 'delivery-started') === published;
  });
  await scene.disturb(
    'process stopped',
    async () => {
      scene.program(first).signal('SIGSTOP');
      await data.after();
      scene.redisLost(from, scene.now());
      await scene.startConsumer(options);
      await scene.expectSoon('no-claims', 'messages to be claimed again', 2 * session, async () => {
        const { scheduled, inFlight } = await admin.stats(TOPIC);
        return scheduled === 0 && inFlight > 0;
      });
      scene.program(first).signal('SIGCONT');
    },
    { process: first, endsLeases: true },
  );
  return { first, handlerTime: LONG_HANDLER };
}
