import { placeOf } from '../fleet/topics.js';
import type { Shard } from '../redis/shard.js';
import { HANDLED_AGAIN, STORED_AGAIN, flush, handledTopics, keysOfFleet } from './data-loss.js';
import type { Stage } from './stage.js';

/** How long a shard is away, in milliseconds: longer than sessions and leases last. */
const ABSENCE = 20_000;

/** How long before that messages are published which are due then, and how soon after it those are handled that others hold. In milliseconds. */
const AHEAD = 1000;
const BESIDE = 5000;

/** How soon all are handled once it is back, and how long a process takes to start at most, in milliseconds. */
const BACK = 10_000;
const BOOTED = 10_000;

const EACH = 12;

/** A shard of a Cluster answers nobody: what the others hold is handled in time. */
export async function silenceShard(stage: Stage): Promise<void> {
  const { world } = stage.scene;
  const shard = drawShard(stage);
  if (!shard) return;
  const all = await publishAhead(stage, 'silent');
  shard.stalledUntil = world.now + ABSENCE;
  await assertOthers(stage, all, shard);
  await stage.wait(shard.stalledUntil - world.now);
  await stage.assertHandled(BACK, 'a shard was silent');
}

/** Nobody can connect to a shard of a Cluster: what the others hold is handled in time, and a process starts. */
export async function leaveShard(stage: Stage): Promise<void> {
  const { fleet, scene } = stage;
  const shard = drawShard(stage);
  if (!shard) return;
  const all = await publishAhead(stage, 'away');
  fleet.outages.leave(shard, ABSENCE);
  await assertOthers(stage, all, shard);
  const [slot] = fleet.slots;
  slot?.process?.end();
  if (slot) fleet.begin(slot);
  const hasStarted = await stage.until(() => slot?.process?.connection !== undefined, BOOTED);
  if (!hasStarted) stage.violated(`a process does not start within ${BOOTED} ms while a shard is away`);
  await stage.wait(shard.awayUntil - scene.world.now);
  await stage.assertHandled(BACK, 'a shard has come back');
}

interface Placed {
  readonly id: string;
  readonly place: string;
}

async function publishAhead(stage: Stage, name: string): Promise<Placed[]> {
  const earliest = stage.scene.server.now() + AHEAD;
  const all: Placed[] = [];
  for (const topic of stage.handled('plain', 'ordered', 'first', 'second')) {
    for (let i = 0; i < EACH; i++) {
      const key = `${name}-${topic}-${i}`;
      const { id } = await stage.publish(topic, key, { earliest }, { deliverAt: earliest });
      all.push({ id, place: placeOf({ topic, key }) });
    }
  }
  return all;
}

async function assertOthers(stage: Stage, all: readonly Placed[], shard: Shard): Promise<void> {
  const { rules, server } = stage.scene;
  const others = all.filter(({ place }) => server.placement.of(place) !== shard).map(({ id }) => id);
  const left = (): string[] => others.filter((id) => !rules.messages.isOver(id));
  if (await stage.until(() => left().length === 0, AHEAD + BESIDE)) return;
  stage.violated(`${left().length} messages are not handled that are not on the shard that is away`, left());
}

/** A shard of a Cluster loses all while the fleet runs: all is handled, and what is about all of the fleet is stored again. */
export async function emptyShard(stage: Stage): Promise<void> {
  const { placement } = stage.scene.server;
  const shard = drawShard(stage);
  if (!shard) return;
  const lost = [...keysOfFleet(stage)].filter((key) => key.startsWith('{dq:fleet}') && placement.of(key) === shard);
  flush(stage, shard);
  await stage.publishToEach(handledTopics(stage), 'emptied');
  await stage.assertHandled(HANDLED_AGAIN, 'a shard has lost all');
  await stage.wait(STORED_AGAIN);
  const stored = keysOfFleet(stage);
  const missing = lost.filter((key) => !stored.has(key));
  if (missing.length > 0) stage.violated(`${missing.join(', ')} are not stored again after a shard has lost all`);
}

function drawShard({ scene: { server, world } }: Stage): Shard | undefined {
  return server.isCluster ? world.random('shard of the end').pick(server.shards) : undefined;
}
