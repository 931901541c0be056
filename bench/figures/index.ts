import type { Sizes } from '../sizes.js';
import { backlog } from './backlog.js';
import { block } from './block.js';
import { burst } from './burst.js';
import { busy, calm } from './calm.js';
import type { Figure } from './figure.js';
import { finished } from './finished.js';
import { growth } from './growth.js';
import { idle } from './idle.js';
import { inFlight } from './in-flight.js';
import { instructions } from './instructions.js';
import { oneAtATime, tenAtATime } from './low-concurrency.js';
import { memory } from './memory.js';
import { ordered } from './ordered.js';
import { processes } from './processes.js';
import { publish } from './publish.js';
import { publishMany } from './publish-many.js';
import { spread } from './spread.js';
import { spreadLive } from './spread-live.js';
import { topics } from './topics.js';

/** In the order in which they are measured and shown. */
const FIGURES = [
  backlog,
  oneAtATime,
  tenAtATime,
  publish,
  publishMany,
  burst,
  spread,
  spreadLive,
  calm,
  busy,
  instructions,
  memory,
  inFlight,
  idle,
  block,
  growth,
  topics,
  processes,
  ordered,
  finished,
];

export function figuresOf(sizes: Sizes): Figure[] {
  return FIGURES.map((figureOf) => figureOf(sizes));
}
