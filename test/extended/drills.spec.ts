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
        const lines = linesOf(result).join('\n');
        console.log(lines);
        // What was found comes first: the output of the processes is long.
        expect(result.findings, `${lines}\n${result.output}`).toEqual([]);
      },
      TIMEOUT,
    );
  },
);
