import { describe, it } from 'vitest';
import { drills } from '../drills/drills/index.js';
import { linesOf, play } from '../drills/play.js';

const SEED = 17;

/** A drill takes at most half a minute on an idle host; one that waits for leases that it should not have lost takes longer. */
const TIMEOUT = 150_000;

describe.each(drills.flatMap(({ short, ...drill }) => (short === undefined ? [] : [{ ...drill, short }])))(
  '$shows',
  (drill) => {
    it(
      'keeps every promise',
      async ({ expect }) => {
        const result = await play(drill, drill.short, SEED);
        console.log(linesOf(result).join('\n'));
        expect(result.findings, result.output).toEqual([]);
      },
      TIMEOUT,
    );
  },
);
