import { type ServerCheck, eachNode, error, ok, warning } from './judgement.js';
import { NotTold } from '../connection/redis-errors.js';
import { MIN_VERSION } from '../connection/server-info.js';

/** Slots of a Redis Cluster. */
const SLOTS = 16_384;

export const connection = eachNode(async (node) => {
  try {
    return ok(`Redis at ${node.address} answered within ${(await node.roundTrip()).toFixed(1)} ms.`);
  } catch (reason) {
    if (!(reason instanceof NotTold) || reason.refused) throw reason;
    return error(
      `Redis at ${node.address} does not answer (${reason.message}): the partitions that it holds wait.`,
      'Look at whether it runs and can be reached from here.',
    );
  }
});

export const version = eachNode(async (node) => {
  const info = await node.info();
  const what = `Redis at ${node.address} is ${info.product}.`;
  if (!info.isTooOld) return ok(what);
  return error(what, `Upgrade it: Redis ${MIN_VERSION.join('.')} or newer is needed, since scripts use its commands.`);
});

/** Of the products that take writes on several sides, KeyDB says so in INFO. */
export const activeActive = eachNode(async (node) => {
  if ((await node.info()).text('role') !== 'active-replica') {
    return ok(`Redis at ${node.address} does not say that other servers take writes beside it.`);
  }
  return error(
    `Redis at ${node.address} is an active replica: other servers take writes beside it, and the newest one wins. So two ` +
      `processes can own a partition at once, and messages are handled twice.`,
    'Use one primary with plain replicas (active-replica no, multi-master no).',
  );
});

export const client = eachNode(async (node, { isClusterClient }) => {
  const info = await node.info();
  const hasSlots = info.find('cluster_enabled') === '1' || info.find('redis_mode') === 'cluster';
  if (isClusterClient || !hasSlots) {
    return ok(`Redis at ${node.address} is used as ${isClusterClient ? 'a node of a Cluster' : 'a single server'}.`);
  }
  const advice =
    'Give the module nodes, as in redis: { nodes: [{ host, port }] }, so that it connects to the whole Cluster.';
  const what = `Redis at ${node.address} is a node of a Redis Cluster, and it is used as a single server`;
  const serving = (await node.clusterInfo()).number('cluster_size');
  if (serving > 1) return error(`${what}. Of the slots, other nodes have some: calls for those fail (MOVED).`, advice);
  return warning(`${what}. It has all slots now; once another node has some, calls for those fail (MOVED).`, advice);
});

export const role = eachNode(async (node) => {
  const text = (await node.info()).text('role');
  if (text === 'master' || text === 'active-replica')
    return ok(`Redis at ${node.address} takes writes (role ${text}).`);
  return error(
    `Redis at ${node.address} is a replica (role ${text}): it refuses every write.`,
    'Connect to the primary: give the address that leads to it, the Sentinels, or the nodes of the Cluster.',
  );
});

export const loading = eachNode(async (node) => {
  const info = await node.info();
  if (info.text('loading') === '0') return ok(`Redis at ${node.address} has loaded its data.`);
  const left = info.find('loading_eta_seconds');
  return warning(
    `Redis at ${node.address} is loading its data from disk and serves nothing meanwhile` +
      `${left === undefined ? '' : `, for about ${left} s more`}.`,
    'Wait: everything goes on by itself once it is loaded.',
  );
});

export const cluster: ServerCheck = async (server) =>
  server.isClusterClient ? eachNodeOfCluster(server) : [ok(`Redis at ${server.address} is not used as a Cluster.`)];

const eachNodeOfCluster = eachNode(async (node) => {
  const state = await node.clusterInfo();
  const assigned = state.number('cluster_slots_assigned');
  const failing = state.number('cluster_slots_fail') + state.number('cluster_slots_pfail');
  const what = `Redis at ${node.address} sees its Cluster in state '${state.text('cluster_state')}'`;
  if (assigned < SLOTS) {
    return error(
      `${what}, and ${SLOTS - assigned} of ${SLOTS} slots belong to no node: messages of the partitions in them are refused.`,
      'Assign the slots: redis-cli --cluster fix <host>:<port>.',
    );
  }
  if (failing > 0 || state.text('cluster_state') !== 'ok') {
    return error(
      `${what}, and the nodes of ${failing} slots are failing: calls for the partitions in them wait or are refused.`,
      'Bring the nodes back, or let their replicas take over (CLUSTER FAILOVER).',
    );
  }
  if ((await node.config('cluster-require-full-coverage')) === 'yes') {
    return warning(
      `${what}. If one shard is away, all others stop as well (cluster-require-full-coverage yes).`,
      'Set cluster-require-full-coverage to no: then only the partitions of that shard wait.',
    );
  }
  return ok(`${what}, with all slots served.`);
});
