import type { Process } from '../fleet/process.js';
import type { Stage } from './stage.js';

/** Longer than a session and a lease, in milliseconds. */
const ABSENCE = 8000;

/** How soon all know again who owns what, and hear signals again, in milliseconds. */
const SETTLED = 15_000;
const HEARING = 15_000;

/** How soon a message is handled at the latest that is due at once, in milliseconds. */
const HANDLED = 5000;

/** A process stands still for longer than its session lasts: then each partition is again owned by one that knows. */
export async function standStill(stage: Stage): Promise<void> {
  stage.running[0]?.freeze(ABSENCE);
  await stage.wait(ABSENCE + SETTLED);
  assertOwned(stage);
  await publishToAll(stage, 'back');
}

/** Redis answers nobody for longer than sessions last, which is no reason to replace anybody. */
export async function fallSilent(stage: Stage): Promise<void> {
  const { server, world } = stage.scene;
  await stage.wait(SETTLED);
  const before = ownersOf(stage);
  for (const shard of server.shards) shard.stalledUntil = world.now + ABSENCE;
  await stage.wait(ABSENCE + SETTLED);
  const after = ownersOf(stage);
  const moved = [...before].filter(([key, owner]) => after.get(key) !== owner).map(([key]) => key);
  if (moved.length > 0) stage.violated(`${moved.join(', ')} have other owners after Redis was silent`, moved);
  assertOwned(stage);
  await publishToAll(stage, 'silent');
}

/** No process hears signals any more, although their connections are up: they notice, and make them anew. */
export async function cutSignals(stage: Stage): Promise<void> {
  for (const { link } of stage.running) link.signals.deafen(Infinity);
  await stage.wait(HEARING);
  await publishToAll(stage, 'heard');
}

async function publishToAll(stage: Stage, name: string): Promise<void> {
  await stage.publishToEach(stage.handled('plain', 'ordered'), name);
  await stage.assertHandled(HANDLED, `messages were published (${name})`);
}

/** What is stored of the owners of all that is handled. */
function ownersOf({ scene }: Stage): Map<string, string> {
  const { data } = scene.server;
  const keys = data.keys.filter((key) => key.endsWith(':owner') && !key.startsWith('{dq:received'));
  return new Map(keys.map((key) => [key, data.call('GET', key) as string]));
}

function assertOwned(stage: Stage): void {
  const owners = new Map<string, Process[]>();
  for (const process of stage.running) {
    for (const partition of process.owned) owners.set(partition, [...(owners.get(partition) ?? []), process]);
  }
  for (const key of ownersOf(stage).keys()) {
    const [, partition = ''] = /\{dq:(.*)\}/.exec(key) ?? [];
    const names = (owners.get(partition) ?? []).map(({ name }) => name);
    if (names.length !== 1) stage.violated(`${names.join(' and ') || 'nobody'} owns ${partition}`, [key, ...names]);
  }
}
