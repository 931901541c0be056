import { eachNode, error, ok, percent, size, warning } from './judgement.js';

/** Share of the memory in use from which on there is too little room for a backlog. */
const NEARLY_FULL = 0.8;

const MAKE_ROOM =
  'Raise maxmemory, or free some: handle or drain what waits, and bound dead letters with deadLetter: { maxAge, maxCount }.';

export const eviction = eachNode(async (node) => {
  const policy = (await node.info()).text('maxmemory_policy');
  if (policy === 'noeviction')
    return ok(`Redis at ${node.address} deletes nothing when its memory is full (noeviction).`);
  const advice = 'Set maxmemory-policy to noeviction.';
  const what = `Redis at ${node.address} has the eviction policy '${policy}': when its memory is full it deletes`;
  if (!policy.startsWith('volatile-')) return error(`${what} messages.`, advice);
  return warning(
    `${what} keys that expire, such as its memory of the latest calls: then a publish that is repeated after a lost answer may ` +
      `be told that its id exists.`,
    advice,
  );
});

export const memory = eachNode(async (node) => {
  const info = await node.info();
  // Buffers of replicas do not count towards maxmemory.
  const used = info.number('used_memory') - Number(info.find('mem_not_counted_for_evict') ?? 0);
  const limit = info.number('maxmemory');
  const machine = Number(info.find('total_system_memory') ?? 0);
  const what = `Redis at ${node.address} uses ${size(used)}`;
  if (limit > 0) {
    const share = used / limit;
    const figures = `${what} of its maxmemory of ${size(limit)} (${percent(share)})`;
    if (share >= 1) return error(`${figures}: it refuses publishes until there is room.`, MAKE_ROOM);
    if (share >= NEARLY_FULL) return warning(`${figures}. Once it is full it refuses publishes.`, MAKE_ROOM);
    return ok(`${figures}.`);
  }
  if (machine === 0) return ok(`${what} and has no limit (maxmemory 0).`);
  const figures = `${what} of the ${size(machine)} of its machine and has no limit (maxmemory 0)`;
  if (used / machine < NEARLY_FULL) return ok(`${figures}.`);
  return warning(
    `${figures}. When the machine has no memory left, the system may end Redis.`,
    'Set maxmemory below what the machine has, so that Redis refuses publishes instead.',
  );
});

export const evictedKeys = eachNode(async (node) => {
  const evicted = (await node.info()).number('evicted_keys');
  if (evicted === 0) return ok(`Redis at ${node.address} has deleted no key for want of memory since its start.`);
  return warning(
    `Redis at ${node.address} has deleted ${evicted} keys for want of memory since its start. Some may have held messages.`,
    'Set maxmemory-policy to noeviction and give it room. What was deleted cannot be brought back.',
  );
});
