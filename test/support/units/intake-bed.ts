import { resolveOptions } from '../../../lib/composition/resolve-options.js';
import { ConsumerRuntime } from '../../../lib/consumer/consumer.runtime.js';
import { Intakes } from '../../../lib/consumer/ownership/intakes.js';
import type { MessageHandler } from '../../../lib/consumer/message-handler.interface.js';
import { type ConsumingOptions, resolveHandler } from '../../../lib/nest/handlers/resolve-handler.js';
import type { DelayedMessage } from '../../../lib/messages/delayed-message.interface.js';
import { encodeEnvelope } from '../../../lib/messages/envelope.js';
import { FleetBed, type TestProcess } from './fleet-bed.js';
import { testRegistry } from './handling.js';
import { turns } from './test-claimant.js';

export const PARTITIONS = 4;
export const SHUTDOWN_TIMEOUT = 10_000;

/** Settles after so many turns of the event loop, in which everything in memory happens. */
export const AT_ONCE = 50;

export interface Member {
  readonly process: TestProcess;
  readonly runtime: ConsumerRuntime;
  readonly intakes: Intakes;
  readonly lines: string[];
  readonly handled: DelayedMessage[];
  /** What handlers do. */
  respond: (message: DelayedMessage) => unknown;
}

/** A process that handles `jobs` and `mails`. */
export function memberOf(bed: FleetBed, id: string, autoStart = true): Member {
  const process = bed.process(id);
  const options = resolveOptions({
    defaults: { partitions: PARTITIONS },
    consumer: { autoStart, shutdownTimeout: SHUTDOWN_TIMEOUT },
  }) as ConsumingOptions;
  const lines: string[] = [];
  const log = {
    log: (line: string) => void lines.push(line),
    warn: (line: string) => void lines.push(`warn ${line}`),
    error: (line: string) => void lines.push(`error ${line}`),
  };
  const context = { ...process.context, log };
  const intakes = new Intakes(autoStart);
  const handle = async ([message]: readonly DelayedMessage[]): Promise<unknown> => {
    if (!message) return undefined;
    member.handled.push(message);
    return member.respond(message);
  };
  const handlers = ['jobs', 'mails'].map((topic): MessageHandler => ({
    ...resolveHandler(`Handlers.${topic}`, [topic], {}, options),
    handle,
  }));
  const topics = testRegistry(context, { settingsOf: options.topicSettings });
  const runtime = new ConsumerRuntime({
    context,
    topics,
    settings: options.consumer,
    handlers,
    intakes,
    hooks: [],
    timeout: 5000,
    onDataLost: () => {},
  });
  const member: Member = { process, runtime, intakes, lines, handled: [], respond: () => {} };
  return member;
}

let published = 0;

/** Publishes messages, due at once, all over the partitions of a topic. */
export async function publish({ broker, clock }: FleetBed, topic: string, count = PARTITIONS): Promise<void> {
  for (let i = 0; i < count; i++) {
    const sequence = ++published;
    const envelope = encodeEnvelope({ payload: i, publishedAt: clock.now() });
    const message = { storedId: `${topic}-${i}`, envelope, due: { after: 0 }, onDuplicate: 'reject' } as const;
    await broker.messages.publish({ topic, index: i % PARTITIONS }, { caller: 'test', sequence }, [message]);
  }
  await turns(AT_ONCE);
}

/** The owners of a topic's partitions. */
export async function ownersOf({ broker }: FleetBed, topic: string): Promise<Set<string | undefined>> {
  const stats = await Promise.all(
    Array.from({ length: PARTITIONS }, (_, index) => broker.messages.stats({ topic, index })),
  );
  return new Set(stats.map(({ owner }) => owner));
}

/** What has become of a promise so far. */
export function outcomeOf(call: Promise<void>): () => string {
  let outcome = 'waits';
  call.then(
    () => (outcome = 'done'),
    (error: Error) => (outcome = error.message),
  );
  return () => outcome;
}

export const OVERTAKEN = (action: string, by: string): string =>
  `${action}() of the intake of topic 'jobs' was overtaken by ${by}, so it has not come true.`;

/** Two processes that share both topics. */
export async function fleet() {
  const bed = new FleetBed();
  const [a, b] = [memberOf(bed, 'a'), memberOf(bed, 'b')];
  for (const { runtime } of [a, b]) await runtime.start();
  await turns(AT_ONCE);
  const close = async () => Promise.all([a, b].map(async ({ runtime }) => runtime.stop()));
  return { bed, a, b, close };
}
