import type { Process } from '../fleet/process.js';
import type { Scene } from '../fleet/scene.js';
import type { Begun } from '../rules/message-rules.js';
import type { Payload } from './payload.js';

/** What the handler does with a message. */
export async function handleMessage(scene: Scene, process: Process, message: Begun): Promise<void> {
  const { rules, world } = scene;
  // A process that is gone does nothing, and nobody waits for it.
  if (process.isDead) return new Promise(() => {});
  const { id, takes, throws, hangs } = message.payload as Payload;
  const run = rules.begin(process, message);
  world.trace(process.name, `begins attempt ${message.attempt} of ${id}`);
  if (takes > 0) await worked(process, message.signal, takes, hangs);
  const isDone = !message.signal.aborted && message.attempt > throws;
  world.trace(process.name, `${isDone ? 'has done' : 'fails at'} ${id}`);
  rules.end(run, isDone);
  if (!isDone) throw new Error('Not yet');
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
