import { counted } from '../../../log.js';
import { eachNode, error, ok, size, warning } from './judgement.js';
import type { ReplicaInfo } from '../connection/server-info.js';

/** Silence of a replica in seconds, and its lag in bytes, from which on it is worth a word. */
const LONG_LAG = 10;
const FAR_BEHIND = 16 * 1024 * 1024;

export const persistence = eachNode(async (node) => {
  const info = await node.info();
  if (info.text('aof_enabled') === '1') {
    const fsync = await node.config('appendfsync');
    const what = `Redis at ${node.address} writes every change to its append-only file (appendfsync ${fsync})`;
    if (fsync === 'always') return ok(`${what}: a crash loses nothing.`);
    if (fsync === 'everysec') return ok(`${what}: a crash of the machine can lose the last second.`);
    return warning(
      `${what}: a crash of the machine can lose what the system has not written yet, some 30 s.`,
      'Set appendfsync to everysec, or to always.',
    );
  }
  if ((await node.config('save')) === '') {
    return error(
      `Redis at ${node.address} keeps nothing on disk (appendonly no, save ""): when it restarts, all messages are lost.`,
      'Set appendonly to yes.',
    );
  }
  const changes = info.find('rdb_changes_since_last_save') ?? 'an unknown number of';
  return warning(
    `Redis at ${node.address} makes snapshots only: a crash loses all since the last one, now ${changes} changes.`,
    'Set appendonly to yes.',
  );
});

/** Writes that can have failed, by the field of INFO that reports it. */
const WRITES: Readonly<Record<string, string>> = {
  aof_last_write_status: 'write to its append-only file',
  aof_last_bgrewrite_status: 'rewrite its append-only file',
  rdb_last_bgsave_status: 'make a snapshot',
};

export const disk = eachNode(async (node) => {
  const info = await node.info();
  const failed = Object.keys(WRITES).filter((field) => info.text(field) !== 'ok');
  if (failed.length === 0) return ok(`Redis at ${node.address} could write to its disk the last time.`);
  return error(
    `Redis at ${node.address} could not ${failed.map((field) => WRITES[field]).join(' or ')} the last time. It refuses writes ` +
      `meanwhile (MISCONF), or loses them in a crash.`,
    'Look into its log: mostly the disk is full, or its folder cannot be written to.',
  );
});

export const replicas = eachNode(async (node, { isClusterClient }) => {
  const info = await node.info();
  const connected = info.number('connected_slaves');
  const needed = Number(await node.config('min-replicas-to-write'));
  const good = Number(info.find('min_slaves_good_slaves') ?? connected);
  const what = `Redis at ${node.address} has ${counted(connected, 'replica')}`;
  if (good < needed) {
    return error(
      `${what}, ${good} of them in step, and takes writes only with ${needed} (min-replicas-to-write): it refuses every write.`,
      'Bring the replicas back, or lower min-replicas-to-write.',
    );
  }
  if (connected > 0 && needed === 0) {
    return warning(
      `${what} and takes writes without them (min-replicas-to-write 0): a failover can lose what was confirmed meanwhile.`,
      'Set min-replicas-to-write to 1, which bounds the loss.',
    );
  }
  if (connected > 0) return ok(`${what} and takes writes only with ${needed} of them in step.`);
  const lost = `${what}: if this machine is lost, all that it holds is lost`;
  return isClusterClient
    ? warning(`${lost}, and the partitions in its slots stop.`, 'Give each master of the Cluster a replica.')
    : ok(`${lost}.`);
});

export const replicationLag = eachNode(async (node) => {
  const info = await node.info();
  const behind = info.replicas.flatMap((replica) => trouble(replica, info.number('master_repl_offset')));
  if (behind.length === 0) {
    return ok(`Redis at ${node.address} has ${counted(info.replicas.length, 'replica')}, and none is behind.`);
  }
  return warning(
    `Redis at ${node.address} is not followed by all of its replicas: ${behind.join('; ')}. What they do not have is lost if ` +
      `they take over.`,
    'Look at the network between them and at how busy they are.',
  );
});

function trouble({ address, state, lag, offset }: ReplicaInfo, primaryOffset: number): string[] {
  if (state !== 'online') return [`${address} is in state '${state}'`];
  if (lag >= LONG_LAG) return [`${address} was last heard of ${lag} s ago`];
  const missing = primaryOffset - offset;
  return missing >= FAR_BEHIND ? [`${address} is ${size(missing)} behind`] : [];
}

export const wait = eachNode(async (node) => {
  const connected = (await node.info()).number('connected_slaves');
  const confirming = await node.wait(connected);
  const what = `Redis at ${node.address} answers WAIT: ${confirming} of ${counted(connected, 'replica')} confirmed at once`;
  if (confirming === connected) return ok(`${what}.`);
  return warning(
    `${what}. Publishes that wait for the others take longer, or reject.`,
    'Look at the network to the replicas and at how busy they are.',
  );
});
