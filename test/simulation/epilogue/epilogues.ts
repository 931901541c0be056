import { cutSignals, fallSilent, standStill } from './absences.js';
import { crash } from './crashes.js';
import { damageBackoff, removeHead } from './damage.js';
import { flushFleet, flushPermits, flushProducers } from './data-loss.js';
import { dieLate } from './deaths.js';
import { crowd, fill } from './full.js';
import { hang } from './hung.js';
import { farAway } from './far-away.js';
import { changeLimits, lowerFlight, shareFlight, shareRate, standInLine } from './limits.js';
import { drain, findTwins, resumeHeld, runHead } from './operating.js';
import { receiveAtOnce } from './receiving.js';
import { moveSchedule, occurLate, pruneStopped } from './schedules.js';
import { emptyShard, leaveShard, silenceShard } from './shards.js';
import type { Stage } from './stage.js';
import { takeTurns } from './turns.js';
import { goOnUnheard, resumeUnheard } from './unheard.js';

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
  lowerFlight,
  standInLine,
  farAway,
  damageBackoff,
  dieLate,
  drain,
  runHead,
  findTwins,
  resumeHeld,
  resumeUnheard,
  goOnUnheard,
  receiveAtOnce,
  occurLate,
  moveSchedule,
  pruneStopped,
  takeTurns,
  silenceShard,
  leaveShard,
  emptyShard,
};
