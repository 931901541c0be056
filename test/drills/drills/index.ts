import type { Drill } from '../drill.js';
import {
  clusterAway,
  clusterFailover,
  clusterKill,
  clusterReturn,
  resharding,
  shardAway,
  shardAwayBriefly,
} from './cluster-drills.js';
import { processClocks, serverClock } from './clock-drills.js';
import { fullRedis } from './full-redis.js';
import { fleetSize } from './fleet-size.js';
import { idle, idleBriefly } from './idle.js';
import {
  claimLostByFailover,
  claimLostBySnapshot,
  emptiedShard,
  flush,
  flushBetween,
  olderSnapshot,
} from './lost-data-drills.js';
import { movedAddress } from './moved-address.js';
import { ordered } from './ordered.js';
import { leaving, replacedBySmaller, stoppedOwner, takeover } from './process-drills.js';
import { sentinelFailover, sentinelKill, sentinelsAway } from './sentinel-drills.js';
import { volume } from './volume.js';

export const drills: readonly Drill[] = [
  sentinelKill,
  sentinelFailover,
  sentinelsAway,
  clusterKill,
  clusterFailover,
  clusterReturn,
  clusterAway,
  shardAwayBriefly,
  shardAway,
  resharding,
  movedAddress,
  flush,
  flushBetween,
  emptiedShard,
  olderSnapshot,
  claimLostByFailover,
  claimLostBySnapshot,
  fullRedis,
  serverClock,
  processClocks,
  ordered,
  takeover,
  stoppedOwner,
  leaving,
  replacedBySmaller,
  idleBriefly,
  idle,
  volume,
  fleetSize,
];
