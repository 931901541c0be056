import { hostileRecords } from './hostile-scenarios.js';
import {
  blockedAlone,
  blockedEventLoop,
  comingAndGoing,
  killedConsumers,
  slowHandlers,
  stoppedConsumer,
  twicePublished,
} from './process-scenarios.js';
import {
  flushedScripts,
  killedConnections,
  longOutage,
  lostReplies,
  lostSignals,
  movedPrimary,
  restartedRedis,
  stalledConnection,
  unreachableRedis,
} from './redis-scenarios.js';
import type { Scenario } from './scenario.js';

export const scenarios: readonly Scenario[] = [
  killedConsumers,
  stoppedConsumer,
  blockedEventLoop,
  blockedAlone,
  slowHandlers,
  twicePublished,
  comingAndGoing,
  restartedRedis,
  flushedScripts,
  killedConnections,
  lostReplies,
  stalledConnection,
  unreachableRedis,
  longOutage,
  lostSignals,
  movedPrimary(2),
  hostileRecords(500),
  hostileRecords(10_000),
];
