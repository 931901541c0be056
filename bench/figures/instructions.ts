import { CountedRedis } from '../harness/counted-redis.js';
import type { Counted } from '../instructions/counted.js';
import { type FigureOf, OURS, type Sample, grouped } from './figure.js';

/** Messages in one call, of those that are counted together. */
const MANY = 100;

/** Calls that are made before it counts, since the first ones grow tables. */
const WARM_UP = 3;

const KEYS = 200;

/** The parts of `internals.ts` that are used here. */
interface Internals {
  readonly openPartition: (socket: string, features: object) => Promise<Counted>;
  readonly openLeast: (socket: string) => Promise<Counted>;
}

type Open = (socket: string, internals: Internals) => Promise<Counted>;

/** The least that scripts have to do. */
export const LEAST = 'a script that only takes and deletes';

/** What a topic, or its messages, can have. */
const FEATURES: Readonly<Record<string, object>> = {
  plain: {},
  pulled: { pulled: true },
  ordered: { keys: KEYS, order: 'continue' },
  tagged: { tags: 2 },
  'limited in flight by key': { keys: KEYS, keyLimits: { inFlight: 50 } },
  'limited rate by key': { keys: KEYS, keyLimits: { rate: { max: 1000, per: 1000 } } },
  'kept when finished': { finished: { maxCount: 100_000 } },
};

export const instructions: FigureOf = ({ counted }) => ({
  name: 'instructions',
  title: 'Instructions of Redis a message',
  description:
    `Instructions that the server executes, counted by Valgrind: they do not depend on how busy the machine is. One partition is filled ` +
    `and emptied by the calls that a publisher and an owner make, one after another, ${MANY} messages in each and one in each; each ` +
    `figure is of ${grouped(counted)} messages.`,
  measures: [
    { key: 'handled', label: 'claimed and settled', unit: 'instructions', better: 'less', digits: 0 },
    { key: 'published', label: 'published', unit: 'instructions', better: 'less', digits: 0 },
  ],
  trials: countedSubjects(counted),
});

/** What is counted, and how. */
interface CountedSubject {
  readonly subject: string;
  readonly measure: () => Promise<Sample>;
}

/** @param messages that each figure is of */
export function countedSubjects(messages: number): CountedSubject[] {
  return [MANY, 1].flatMap((perCall) => {
    const subject = (name: string, open: Open): CountedSubject => ({
      subject: `${name}, ${perCall} at once`,
      measure: () => count(open, perCall, messages),
    });
    return [
      subject(LEAST, (socket, { openLeast }) => openLeast(socket)),
      ...Object.entries(FEATURES).map(([feature, features]) =>
        subject(`${OURS}, ${feature}`, (socket, { openPartition }) => openPartition(socket, features)),
      ),
    ];
  });
}

async function count(open: Open, perCall: number, messages: number): Promise<Sample> {
  // In a variable, so that the compiler does not compile the library too.
  const path = '../internals.js';
  const internals = (await import(path)) as Internals;
  const redis = await CountedRedis.start();
  try {
    const counted = await open(redis.socket, internals);
    const publish = async (total: number): Promise<void> => {
      for (let left = total; left > 0; left -= perCall) await counted.publish(perCall);
    };
    const handle = async (total: number): Promise<void> => {
      for (let left = total; left > 0;) left -= await counted.handle(perCall);
    };
    await publish(WARM_UP * perCall);
    await handle(WARM_UP * perCall);
    const published = await redis.count(() => publish(messages));
    const handled = await redis.count(() => handle(messages));
    await counted.close();
    return { handled: handled / messages, published: published / messages };
  } finally {
    await redis.stop();
  }
}
