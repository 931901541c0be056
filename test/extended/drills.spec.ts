import { describe, inject, it } from 'vitest';
import { drills } from '../drills/drills/index.js';
import { linesOf, play } from '../drills/play.js';

const SEED = 17;

const soak = inject('soak');

/** Milliseconds. A drill takes at most half a minute in its short form; one that waits for leases that it should not have lost takes longer. */
const TIMEOUT = soak ? 3_600_000 : 300_000;

const played = drills.flatMap((drill) => {
  const times = soak ? drill.times : drill.short;
  return times === undefined ? [] : [{ ...drill, times }];
});

describe.each(played)('$shows', (drill) => {
  it(
    'keeps every promise',
    async ({ expect }) => {
      const result = await play(drill, drill.times, SEED);
      const lines = linesOf(result).join('\n');
      console.log(lines);
      const again = `npm run test:drills -- --only ${drill.name} --times ${drill.times} --seed ${SEED}`;
      // What was found comes first: the output of the processes is long.
      expect(result.findings, `${again}\n${lines}\n${result.output}`).toEqual([]);
    },
    TIMEOUT,
  );
});
