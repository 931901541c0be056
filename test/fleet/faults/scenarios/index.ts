import { cutOffConsumer, deafSignals, delayedCopies } from './connection-scenarios.js';
import { hostileOrder, hostileRecords, manyHostileRecords } from './hostile-scenarios.js';
import { flushedProducers, flushedRedis, lostClaim, olderSnapshot } from './lost-data-scenarios.js';
import { fewInFlight, ratedKeys, ratedTopic } from './limit-scenarios.js';
import { hungHandlers, killingMessage } from './message-scenarios.js';
import { hotKey, orderedKeys } from './order-scenarios.js';
import {
  blockedAlone,
  blockedEventLoop,
  comingAndGoing,
  killedConsumers,
  pausedTopic,
  rolledFleet,
  slowHandlers,
  stoppedConsumer,
  twicePublished,
} from './process-scenarios.js';
import {
  flushedScripts,
  frozenRedis,
  fullRedis,
  killedConnections,
  longOutage,
  lostReplies,
  lostSignals,
  movedPrimary,
  restartedRedis,
  stalledConnection,
  unreachableRedis,
} from './redis-scenarios.js';
import { forwarded, pulled, pulledFewInFlight, pushed } from './destination-scenarios.js';
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
  hostileRecords,
  manyHostileRecords,
  pausedTopic,
  rolledFleet,
  hungHandlers,
  killingMessage,
  frozenRedis,
  fullRedis,
  flushedRedis,
  flushedProducers,
  olderSnapshot,
  lostClaim,
  cutOffConsumer,
  deafSignals,
  delayedCopies,
  orderedKeys,
  hotKey,
  ratedTopic,
  ratedKeys,
  fewInFlight,
  hostileOrder,
  ...pulled,
  pulledFewInFlight,
  ...pushed,
  ...forwarded,
];
