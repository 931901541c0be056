import type { DoctorCheck, DoctorFinding } from '../../../lib/store/inspection.interface.js';
import type { InspectedNode, InspectedServer } from '../../../lib/engines/redis/doctor/inspected-server.js';
import { NotTold } from '../../../lib/engines/redis/connection/redis-errors.js';
import { checkServer, warnAtBoot } from '../../../lib/engines/redis/doctor/server-checks.js';
import { ServerInfo } from '../../../lib/engines/redis/connection/server-info.js';

/** What a server in perfect order says. */
const INFO = {
  redis_version: '7.2.4',
  cluster_enabled: '0',
  role: 'master',
  loading: '0',
  maxmemory_policy: 'noeviction',
  used_memory: '1048576',
  maxmemory: '10485760',
  evicted_keys: '0',
  aof_enabled: '1',
  aof_last_write_status: 'ok',
  aof_last_bgrewrite_status: 'ok',
  rdb_last_bgsave_status: 'ok',
  connected_slaves: '1',
  min_slaves_good_slaves: '1',
  master_repl_offset: '100000000',
  slave0: 'ip=10.0.0.2,port=6379,state=online,offset=99999999,lag=0',
  connected_clients: '10',
  maxclients: '10000',
  rejected_connections: '0',
};
const CONFIG: Readonly<Record<string, string>> = {
  appendfsync: 'everysec',
  save: '',
  'min-replicas-to-write': '1',
  'cluster-require-full-coverage': 'no',
};
const CLUSTER = {
  cluster_state: 'ok',
  cluster_slots_assigned: '16384',
  cluster_slots_pfail: '0',
  cluster_slots_fail: '0',
  cluster_size: '3',
};
export const TRAITS = { scriptFlags: true, shardedPubSub: true };

/** What a server says that differs from one in perfect order. */
export interface Facts {
  readonly info?: Readonly<Record<string, string | undefined>>;
  readonly config?: Readonly<Record<string, string>>;
  readonly cluster?: Readonly<Record<string, string>>;
  readonly node?: Partial<InspectedNode>;
  readonly server?: Partial<InspectedServer>;
}

function textOf(fields: Readonly<Record<string, string | undefined>>): string {
  const lines = Object.entries(fields).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}:${value}\r\n`],
  );
  return lines.join('');
}

export function nodeOf({ info, config, cluster, node }: Facts, address = 'host:6379'): InspectedNode {
  return {
    address,
    roundTrip: async () => 0.5,
    clockOffset: async () => 3,
    info: async () => new ServerInfo(textOf({ ...INFO, ...info })),
    clusterInfo: async () => new ServerInfo(textOf({ ...CLUSTER, ...cluster })),
    config: async (name) => ({ ...CONFIG, ...config })[name] ?? '',
    traits: async () => TRAITS,
    timeInScript: async () => {},
    wait: async () => 1,
    slowCalls: async () => [],
    setAside: async () => ({ keys: [], complete: true }),
    prefixes: async () => ({ isOwn: true, others: [] }),
    database: 0,
    ...node,
  };
}

export function serverOf(facts: Facts): InspectedServer {
  return {
    address: 'host:6379',
    isClusterClient: false,
    prefix: 'dq',
    isSharded: true,
    role: undefined,
    nodes: [nodeOf(facts)],
    refusals: async () => [],
    echo: async () => 1,
    ...facts.server,
  };
}

/** A question that the server refuses. */
export const refused = async (): Promise<never> => {
  throw new NotTold('ASKED: NOPERM no permission', { refused: true });
};
/** A question that gets no answer. */
export const silent = async (): Promise<never> => {
  throw new NotTold('ASKED: No answer within 2500 ms', { refused: false });
};

/** A Cluster of masters, on the ports from 7000 on. */
export function mastersOf(...facts: readonly Facts[]): Facts {
  return { server: { isClusterClient: true, nodes: facts.map((fact, i) => nodeOf(fact, `host:${7000 + i}`)) } };
}

/** What one check finds. */
export async function found(facts: Facts, check: DoctorCheck): Promise<DoctorFinding[]> {
  const findings = await checkServer(serverOf(facts));
  return findings.filter((finding) => finding.check === check);
}

/** What a boot on a server warns of. */
export async function bootWarnings(server: InspectedServer): Promise<string[]> {
  const warnings: string[] = [];
  await warnAtBoot(server, { log: () => {}, error: () => {}, warn: (message) => warnings.push(message) });
  return warnings;
}
