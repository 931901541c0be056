import type { DelayedMessage } from '../../../lib/messages/delayed-message.interface.js';
import type { Process } from '../fleet/process.js';
import type { Scene } from '../fleet/scene.js';
import type { Begun } from '../rules/message-rules.js';
import type { Payload } from './payload.js';

/**
 * What the handler does with a message.
 *
 * @param isSpoilt whether it fails whatever it does
 */
export async function handleMessage(scene: Scene, process: Process, message: Begun, isSpoilt = false): Promise<void> {
  const { rules, world } = scene;
  const { id, takes, hangs, trouble } = message.payload as Payload;
  const run = rules.begin(process, message);
  world.trace(process.name, `begins attempt ${message.attempt} of ${id}`);
  if (takes > 0) await worked(process, message.signal, takes, hangs);
  if (trouble?.kind === 'kills') process.crash();
  if (trouble?.kind === 'kills' || trouble?.kind === 'sticks') return new Promise(() => {});
  const error = isSpoilt ? new Error('Spoilt') : errorOf(scene, process, message);
  world.trace(process.name, `${error ? 'fails at' : 'has done'} ${id}`);
  rules.end(run, !error);
  if (error instanceof process.product.RateLimitedError && error.scope === 'topic') rules.holds.met(run, error.delay);
  if (error) throw error;
}

/** As messages of a batch: together, and each with an outcome of its own. */
export async function handleBatch(
  scene: Scene,
  process: Process,
  messages: readonly DelayedMessage[],
): Promise<readonly PromiseSettledResult<void>[]> {
  const isSpoilt = messages.some(
    ({ payload, attempt }) => attempt === 1 && (payload as Payload).trouble?.kind === 'spoils',
  );
  const results = await Promise.allSettled(messages.map((message) => handleMessage(scene, process, message, isSpoilt)));
  if (isSpoilt) throw new Error('All of them are spoilt');
  return results;
}

/** What its handler throws: errors of the build that its process runs. */
function errorOf({ server }: Scene, { product }: Process, { payload, attempt, signal }: Begun): Error | undefined {
  const { throws, trouble } = payload as Payload;
  const { RateLimitedError, UnrecoverableError } = product;
  if (signal.aborted || attempt <= throws) return new Error('Not yet');
  if (trouble?.kind === 'gives up') return new UnrecoverableError('Never');
  if (trouble?.kind !== 'limited' || server.now() >= trouble.until) return undefined;
  return new RateLimitedError(trouble.delay, { scope: trouble.by });
}

async function worked(process: Process, signal: AbortSignal, takes: number, hangs: boolean): Promise<void> {
  return new Promise((resolve) => {
    const timer = process.setTimer(takes, resolve);
    if (hangs) return;
    signal.addEventListener('abort', () => {
      timer.cancel();
      resolve();
    });
  });
}
