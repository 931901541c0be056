import type { SeededRandom } from '../../support/random.js';
import type { Payload } from './payload.js';

type Drawn = Partial<Pick<Payload, 'throws' | 'trouble'>>;

/** In milliseconds. */
const LONGEST_DELAY = 1000;
const LONGEST_LIMIT = 2000;

/** More than a topic with few attempts has. */
const MOST_THROWS = 4;

const SCOPES = ['message', 'key', 'topic'] as const;

function someDie(random: SeededRandom): Drawn {
  const throws = random.next() < 0.4 ? random.integer(1, MOST_THROWS) : 0;
  return random.next() < 0.1 ? { throws, trouble: { kind: 'gives up' } } : { throws };
}

function some(kind: 'sticks' | 'kills' | 'spoils', share: number): (random: SeededRandom) => Drawn {
  return (random) => (random.next() < share ? { trouble: { kind } } : {});
}

/** Of the topics whose handlers have troubles of their own. */
const TROUBLES: Readonly<Record<string, (random: SeededRandom, earliest: number) => Drawn>> = {
  batched: some('spoils', 0.02),
  'batched-ordered': some('spoils', 0.02),
  'few-attempts': someDie,
  'ordered-deaths': someDie,
  hanging: some('sticks', 0.2),
  killing: some('kills', 0.1),
  once: (random) => ({ throws: random.next() < 0.2 ? 1 : 0 }),
  busy: (random, earliest) => {
    if (random.next() < 0.7) return {};
    const delay = random.integer(1, LONGEST_DELAY);
    const until = earliest + random.between(0, LONGEST_LIMIT);
    return { trouble: { kind: 'limited', by: random.pick(SCOPES), delay, until } };
  },
};

/** What a message of a topic has in place of what others have. */
export function drawTrouble(topic: string, random: SeededRandom, earliest: number): Drawn {
  return TROUBLES[topic]?.(random, earliest) ?? {};
}
