import type { Contender, ContenderName } from './contender.js';

/** Loaded on demand, so that no contender's code burdens another's process. */
const CONTENDERS: Readonly<Record<ContenderName, () => Promise<Contender>>> = {
  'nestjs-delay-queue': async () => (await import('./nest-delay-queue.js')).nestDelayQueue,
  BullMQ: async () => (await import('./bullmq.js')).bullMq,
  'bee-queue': async () => (await import('./bee-queue.js')).beeQueue,
  'bare scripts': async () => (await import('./bare.js')).bareScripts,
};

export async function loadContender(name: ContenderName): Promise<Contender> {
  return CONTENDERS[name]();
}
