import 'reflect-metadata';
import type { ReplicaOptions } from 'nestjs-delay-queue';
import { expect, it } from 'vitest';
import { SeededRandom } from '../support/random.js';
import { type Victims, playKills } from './replicated-kills.js';

/** `DRILL_KILLS=20` plays the whole drill. */
const GIVEN = process.env['DRILL_KILLS'];

/** Longest time for one kill, and for what comes before and after all, in milliseconds. */
const PER_KILL = 120_000;

const SEED = 17;

const BOTH = { min: 2, timeout: '2s' };
const ONE = { min: 1, timeout: '2s' };

interface Drill {
  readonly victims: Victims;
  readonly asked: string;
  readonly replicas: ReplicaOptions | undefined;
  readonly kills: number;
  /** Fewest and most of the confirmed messages that all kills together lose. */
  readonly least: number;
  readonly most: number;
}

const DRILLS: readonly Drill[] = [
  { victims: 'the primary', asked: 'both replicas', replicas: BOTH, kills: 1, least: 0, most: 0 },
  // Sentinel promotes the replica that has more, so these are lost only if it cannot.
  { victims: 'the primary', asked: 'one of two replicas', replicas: ONE, kills: 1, least: 0, most: Infinity },
  { victims: 'the primary', asked: 'no replica', replicas: undefined, kills: 1, least: 0, most: Infinity },
  { victims: 'the primary and a replica', asked: 'both replicas', replicas: BOTH, kills: 1, least: 0, most: 0 },
  // The only replica that has confirmed is gone, too.
  {
    victims: 'the primary and a replica',
    asked: 'one of two replicas',
    replicas: ONE,
    kills: 2,
    least: 1,
    most: Infinity,
  },
];

it.each(DRILLS)(
  '$victims killed again and again: of what $asked confirmed, $least to $most messages are lost',
  async ({ victims, asked, replicas, kills: few, least, most }) => {
    const kills = Number(GIVEN ?? few);
    const { confirmed, lost, failed, gaps } = await playKills(kills, victims, replicas, new SeededRandom(SEED));
    const result = { kills: gaps.length, confirmed, lost: lost.length, failed, gaps };
    console.log(`${victims} killed, confirmed by ${asked}: ${JSON.stringify(result)}`);

    expect(gaps).toHaveLength(kills);
    expect(confirmed).toBeGreaterThan(kills * 200);
    expect(lost.length).toBeGreaterThanOrEqual(least);
    expect(lost.length).toBeLessThanOrEqual(most);
  },
  (Number(GIVEN ?? 2) + 1) * PER_KILL,
);
