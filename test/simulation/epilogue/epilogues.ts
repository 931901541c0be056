import { cutSignals, fallSilent, standStill } from './absences.js';
import { crash } from './crashes.js';
import { removeHead } from './damage.js';
import { flushFleet, flushPermits, flushProducers } from './data-loss.js';
import { crowd, fill } from './full.js';
import { hang } from './hung.js';
import { changeLimits, shareFlight, shareRate } from './limits.js';
import { emptyShard, leaveShard, silenceShard } from './shards.js';
import type { Stage } from './stage.js';

/** What is done to a fleet in the end, when nothing goes wrong any more and all is done: each seed chooses one. */
export const EPILOGUES: Readonly<Record<string, (stage: Stage) => Promise<void>>> = {
  flushFleet,
  flushProducers,
  changeLimits,
  shareRate,
  shareFlight,
  hang,
  removeHead,
  crash,
  fill,
  crowd,
  standStill,
  fallSilent,
  cutSignals,
  flushPermits,
  silenceShard,
  leaveShard,
  emptyShard,
};
