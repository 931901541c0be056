import 'reflect-metadata';
import type { ReplicaOptions } from 'nestjs-delay-queue';
import { expect, it } from 'vitest';
import { SeededRandom } from '../support/random.js';
import { type Victims, playKills } from './replicated-kills.js';

const KILLS = 20;

/** Longest time for one kill, and for what comes before and after all, in milliseconds. */
const PER_KILL = 120_000;

const SEED = 17;

const BOTH = { min: 2, timeout: '2s' };
const ONE = { min: 1, timeout: '2s' };

it.each<{ victims: Victims; asked: string; replicas: ReplicaOptions | undefined; least: number; most: number }>([
  { victims: 'the primary', asked: 'both replicas', replicas: BOTH, least: 0, most: 0 },
  // Sentinel promotes the replica that has more, so these are lost only if it cannot.
  { victims: 'the primary', asked: 'one of two replicas', replicas: ONE, least: 0, most: Infinity },
  { victims: 'the primary', asked: 'no replica', replicas: undefined, least: 0, most: Infinity },
  { victims: 'the primary and a replica', asked: 'both replicas', replicas: BOTH, least: 0, most: 0 },
  // The only replica that has confirmed is gone, too.
  { victims: 'the primary and a replica', asked: 'one of two replicas', replicas: ONE, least: KILLS, most: Infinity },
])(
  '$victims killed again and again: of what $asked confirmed, $least to $most messages are lost',
  async ({ victims, asked, replicas, least, most }) => {
    const { confirmed, lost, failed, gaps } = await playKills(KILLS, victims, replicas, new SeededRandom(SEED));
    const result = { kills: gaps.length, confirmed, lost: lost.length, failed, gaps };
    console.log(`${victims} killed, confirmed by ${asked}: ${JSON.stringify(result)}`);

    expect(gaps).toHaveLength(KILLS);
    expect(confirmed).toBeGreaterThan(KILLS * 200);
    expect(lost.length).toBeGreaterThanOrEqual(least);
    expect(lost.length).toBeLessThanOrEqual(most);
  },
  (KILLS + 1) * PER_KILL,
);
