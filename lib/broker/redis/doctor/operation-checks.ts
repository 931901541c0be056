import { eachNode, ok, percent, warning } from './judgement.js';

/** From this share of its connections on, a deployment that starts many processes may not get them. */
const NEARLY_ALL = 0.8;

/** Most keys that a message names. */
const MAX_NAMED = 5;

export const connections = eachNode(async (node) => {
  const info = await node.info();
  const connected = info.number('connected_clients');
  const limit = Number(info.find('maxclients') ?? (await node.config('maxclients')));
  const rejected = info.number('rejected_connections');
  const what = `Redis at ${node.address} has ${connected} of at most ${limit} connections (${percent(connected / limit)})`;
  const advice =
    'Raise maxclients. A process needs two connections, and three if it reads fleet events; in a Cluster, more.';
  if (rejected > 0) return warning(`${what} and has rejected ${rejected} since its start.`, advice);
  if (connected / limit >= NEARLY_ALL) return warning(`${what}. Further processes may be rejected.`, advice);
  return ok(`${what} and has rejected none.`);
});

export const slowScripts = eachNode(async (node) => {
  const calls = await node.slowCalls();
  const [slowest] = calls.toSorted((a, b) => b.duration - a.duration);
  if (!slowest) return ok(`Redis at ${node.address} has no call of ours over 10 ms among its latest slow ones.`);
  const { script = 'of another version', duration, at } = slowest;
  return warning(
    `Redis at ${node.address} has run ${calls.length} calls of our scripts for more than 10 ms; the longest, ${script}, took ` +
      `${duration.toFixed(0)} ms (${new Date(at * 1000).toISOString()}). It serves nobody else meanwhile.`,
    'Look at what else keeps its machine busy: swapping, forks for snapshots, other commands in SLOWLOG GET.',
  );
});

export const setAside = eachNode(async (node) => {
  const { keys, complete } = await node.setAside();
  const extent = complete ? '' : ', as far as its keys were looked through,';
  if (keys.length === 0) return ok(`Redis at ${node.address} holds${extent} no key that was set aside.`);
  const named = keys.slice(0, MAX_NAMED).join(', ') + (keys.length > MAX_NAMED ? ', …' : '');
  return warning(
    `Redis at ${node.address} holds${extent} ${keys.length} keys that were set aside, since another program had written over ` +
      `ours: ${named}. What ours held is lost.`,
    'Find out which program writes there. Look at the keys, keep what you need, and delete them.',
  );
});
