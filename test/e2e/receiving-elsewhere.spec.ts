import { DelayQueueReceiver, type ReceivedOutcome } from 'nestjs-delay-queue';
import { expect, it, onTestFinished } from 'vitest';
import { useBed } from '../support/app/bed.js';

const TOPIC = 'steps';
const KEYS = ['a', 'b', 'c', 'd', 'e', 'f'];
const STEPS = 10;

/** Whoever is not told that something is due waits until the lease of the delivery before would have ended. */
const LEASE = 10 * 60_000;

const bed = useBed();

it(
  'what one process hands out, in order, goes on at once when another one settles it',
  { timeout: LEASE / 10 },
  async () => {
    const options = { topics: { [TOPIC]: { partitions: 4, ordered: true } } };
    const apps = [await bed.start({ options }), await bed.start({ options })] as const;
    const receivers = apps.map((app) => app.get(DelayQueueReceiver));
    const settled = new Map<string, unknown[]>();
    const over = new AbortController();
    onTestFinished(() => over.abort());

    /** Receives at one, and settles at the other: a balancer sends each request elsewhere. */
    const work = async (place: number, until: () => boolean): Promise<void> => {
      const [receiving, settling] = [receivers[place], receivers[1 - place]] as [
        DelayQueueReceiver,
        DelayQueueReceiver,
      ];
      while (!until() && !over.signal.aborted) {
        const wanted = { max: 5, wait: '1m', lease: LEASE, signal: over.signal };
        const messages = await receiving.receive<number>(TOPIC, wanted).catch(() => []);
        for (const { key, payload, receipt, attempt } of messages) {
          const outcome: ReceivedOutcome = attempt === 1 && payload % 3 === 1 ? { outcome: 'retry', delay: 10 } : 'ack';
          const isReleased = payload % 3 === 2 && !settled.get(`${key}${payload}`);
          expect(await settling.settle(receipt, isReleased ? 'release' : outcome)).toBe('settled');
          if (isReleased) settled.set(`${key}${payload}`, []);
          else if (outcome === 'ack') settled.set(key, [...(settled.get(key) ?? []), payload]);
        }
      }
    };
    const publish = async (key: string, payload: number): Promise<unknown> =>
      apps[0].producer.publish(TOPIC, payload, { key });
    const isDone = (count: number): boolean => KEYS.every((key) => settled.get(key)?.length === count);

    // The first has all partitions, and does not hear that what it has handed out is settled: it watches those that it gives up.
    for (const key of KEYS) await publish(key, 0);
    await work(0, () => isDone(1));
    for (let step = 1; step < STEPS; step++) for (const key of KEYS) await publish(key, step);
    const isOver = (): boolean => isDone(STEPS) && (over.abort(), true);
    await Promise.all([work(0, isOver), work(1, isOver)]);

    for (const key of KEYS) expect(settled.get(key)).toEqual(Array.from({ length: STEPS }, (_, step) => step));
  },
);
