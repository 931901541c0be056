import type { Scene } from '../fleet/scene.js';
import { LEASE, TOPICS } from '../fleet/topics.js';
import type { SeededRandom } from '../../support/random.js';
import { exponential } from '../world/accidents.js';
import type { Payload } from './payload.js';
import { drawTrouble } from './troubles.js';

const MOST_THROWS = 3;
const LONGEST = 3 * LEASE;
/** Mean of the delays, and the longest of them, in milliseconds: shorter than anybody waits for the end. */
const DELAY = 2000;
const LONGEST_DELAY = 10_000;

/** Whose next message it is. */
export interface Place {
  readonly topic: string;
  readonly key: string;
  readonly index: number;
  /** The delay of each if they are ordered, in milliseconds. */
  readonly lag: number;
}

/** The delay of all messages of one who publishes in order. */
export function drawLag(random: SeededRandom): number {
  return random.next() < 0.5 ? 0 : random.between(0, DELAY);
}

/** A message with a delay, in milliseconds. */
export function drawMessage({ server, faults }: Scene, random: SeededRandom, { topic, key, index, lag }: Place) {
  const isDelayed = random.next() < 0.3;
  const delay = Math.round(
    TOPICS[topic]?.ordered ? lag : isDelayed ? Math.min(LONGEST_DELAY, exponential(random, DELAY)) : 0,
  );
  const hangs = random.next() < faults.hangs;
  const isSlow = hangs || random.next() < faults.slow;
  const isShort = random.next() < 0.6;
  const takes = isSlow ? random.between(0, LONGEST) : isShort ? 0 : random.between(1, 60);
  const throws = random.next() < faults.throws ? random.integer(1, MOST_THROWS) : 0;
  const earliest = server.now() + delay;
  const usual: Payload = { id: `${key}-${index}`, key, index, takes, throws, hangs, earliest };
  return { payload: { ...usual, ...drawTrouble(topic, random, earliest) }, delay };
}
