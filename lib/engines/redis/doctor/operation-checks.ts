import { NotTold } from '../connection/redis-errors.js';
import type { InspectedNode } from './inspected-server.js';
import { type ServerCheck, eachNode, error, ok, percent, warning } from './judgement.js';

/** Share of the connections in use from which on a deployment that starts many processes may get too few. */
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

export const prefix: ServerCheck = async ({ address, prefix: own, nodes }) => {
  const found = await Promise.all(nodes.map(async (node) => node.prefixes()));
  if (found.some(({ isOwn }) => isOwn)) return [ok(`Redis at ${address} has topics under the prefix '${shown(own)}'.`)];
  if (found.every(({ isOwn }) => isOwn === undefined)) {
    throw new NotTold('the node that would know is away', { refused: false });
  }
  // The address names any other database.
  const where = nodes[0]?.database ? '' : 'database 0 of ';
  const nothing = `Nothing is stored under the prefix '${shown(own)}' in ${where}Redis at ${address}`;
  const others = [...new Set(found.flatMap((one) => one.others))].toSorted().map((name) => `'${shown(name)}'`);
  if (others.length > 0) {
    return [
      error(
        `${nothing}; there is ${others.slice(0, MAX_NAMED).join(', ')}${others.length > MAX_NAMED ? ', …' : ''}.`,
        'Give the prefix that the application has. If nothing has used this one yet, all is well.',
      ),
    ];
  }
  const databases = (await Promise.all(nodes.map(otherDatabases))).flat();
  if (databases.length === 0) return [ok(`${nothing} yet.`)];
  return [
    warning(
      `${nothing}; there are keys in database ${databases.slice(0, MAX_NAMED).join(', ')}.`,
      'Give the database that the application has, as in redis://host:6379/2. If nothing has used this one yet, all is well.',
    ),
  ];
};

async function otherDatabases(node: InspectedNode): Promise<number[]> {
  return (await node.info()).databases.filter((number) => number !== node.database);
}

/** A colon of a prefix is a slash in keys. */
function shown(name: string): string {
  return name.replaceAll('/', ':');
}
