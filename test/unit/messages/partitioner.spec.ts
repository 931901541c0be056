import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { partitionOf } from '../../../lib/messages/partitioner.js';
import { shown } from '../../support/shown.js';

/** More partitions than CRC-32 has values: shows the hash itself. */
const ALL = 2 ** 32;

describe('partitionOf', () => {
  // Fixed for ever: messages that are stored would not be found again.
  for (const [key, crc] of [
    ['', 0],
    ['a', 3_904_355_907],
    ['123456789', 3_421_780_262],
    ['42', 841_265_288],
    ['order-42', 1_475_806_942],
    ['0192f0c1-2345-7abc-8def-0123456789ab', 939_135_297],
    ['x'.repeat(256), 1_944_984_080],
    ['müller', 2_751_106_649],
    ['日本語', 2_819_314_405],
    ['\u{1F600}', 88_978_756],
  ] as const) {
    it(`takes ${shown(key)} for ${crc}, modulo the number of partitions`, () => {
      expect(partitionOf(key, ALL)).toBe(crc);
      for (const partitions of [1, 2, 3, 8, 16, 1000, 1024])
        expect(partitionOf(key, partitions)).toBe(crc % partitions);
    });
  }

  const COUNT = 100_000;
  const KEYS: Readonly<Record<string, (i: number) => string>> = {
    'sequential numbers': (i) => String(i),
    'sequential numbers of one length': (i) => String(i).padStart(10, '0'),
    'sequential order numbers': (i) => `order-${i}`,
    'random ids': () => randomUUID(),
  };
  for (const [what, keyOf] of Object.entries(KEYS)) {
    for (const [partitions, bound] of [
      [8, 0.05],
      [16, 0.08],
      [1000, 0.6],
    ] as const) {
      it(`spreads ${what} over ${partitions} partitions, each within ${bound * 100} % of its share`, () => {
        const counts = Array.from({ length: partitions }, () => 0);
        for (let i = 0; i < COUNT; i++) {
          const partition = partitionOf(keyOf(i), partitions);
          counts[partition] = (counts[partition] ?? NaN) + 1;
        }

        const share = COUNT / partitions;
        expect(counts).toHaveLength(partitions);
        expect(Math.min(...counts)).toBeGreaterThan(share * (1 - bound));
        expect(Math.max(...counts)).toBeLessThan(share * (1 + bound));
      });
    }
  }
});
