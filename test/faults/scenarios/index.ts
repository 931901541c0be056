import { blockedEventLoop, comingAndGoing, killedConsumers, stoppedConsumer } from './process-scenarios.js';
import {
  flushedScripts,
  killedConnections,
  lostReplies,
  lostSignals,
  restartedRedis,
  stalledConnection,
  unreachableRedis,
} from './redis-scenarios.js';
import type { Scenario } from './scenario.js';

export const scenarios: readonly Scenario[] = [
  killedConsumers,
  stoppedConsumer,
  blockedEventLoop,
  comingAndGoing,
  restartedRedis,
  flushedScripts,
  killedConnections,
  lostReplies,
  stalledConnection,
  unreachableRedis,
  lostSignals,
];
