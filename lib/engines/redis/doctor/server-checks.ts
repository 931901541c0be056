import { type Log, counted } from '../../../log.js';
import type { DoctorCheck, DoctorFinding } from '../../../store/inspection.interface.js';
import { persistence, disk, replicas, replicationLag, wait } from './durability-checks.js';
import { activeActive, client, cluster, connection, loading, role, version } from './identity-checks.js';
import type { InspectedNode, InspectedServer } from './inspected-server.js';
import { type Judgement, type ServerCheck, unknown } from './judgement.js';
import { eviction, evictedKeys, memory } from './memory-checks.js';
import { connections, prefix, setAside, slowScripts } from './operation-checks.js';
import { NotTold } from '../connection/redis-errors.js';
import { clock, rights, scriptFlags, scriptTime, signals } from './protocol-checks.js';

/** Every check of a server; that of topics is none, since it goes through the port. */
const CHECKS: Readonly<Record<Exclude<DoctorCheck, 'topics'>, ServerCheck>> = {
  connection,
  version,
  'active-active': activeActive,
  client,
  role,
  loading,
  eviction,
  memory,
  'evicted-keys': evictedKeys,
  persistence,
  disk,
  replicas,
  'replication-lag': replicationLag,
  wait,
  rights,
  'script-flags': scriptFlags,
  'script-time': scriptTime,
  signals,
  clock,
  cluster,
  connections,
  'slow-scripts': slowScripts,
  'set-aside': setAside,
  prefix,
};

/** Checks that the boot warns of: settings with which messages can be lost, and a clock by which a deliverAt would be wrong. */
const AT_BOOT = [
  { judge: eviction, levels: ['warning', 'error'] },
  { judge: persistence, levels: ['error'] },
  { judge: clock, levels: ['warning'] },
] as const satisfies readonly { readonly judge: ServerCheck; readonly levels: readonly Judgement['level'][] }[];

/**
 * Returns the findings of all checks, in the order of the table; of a server that does not answer, that one finding. Never
 * rejects: a check that fails has its failure as its finding.
 */
export async function checkServer(server: InspectedServer): Promise<DoctorFinding[]> {
  const answered = await Promise.all(server.nodes.map(answers));
  const nodes = server.nodes.filter((_, i) => answered[i]);
  const findings = Object.entries(CHECKS).map(async ([name, judge]) => {
    const check = name as keyof typeof CHECKS;
    if (check !== 'connection' && nodes.length === 0) return [];
    const judged = check === 'connection' ? server : { ...server, nodes };
    return (await judgementsOf(judge, judged)).map(({ level, message, advice }) => ({
      check,
      level: level === 'unknown' ? ('warning' as const) : level,
      message,
      advice,
    }));
  });
  return (await Promise.all(findings)).flat();
}

/**
 * Warns of a server that may lose messages; of several that are alike, of the first. It does not warn of what a server does not
 * tell.
 */
export async function warnAtBoot(server: InspectedServer, log: Log): Promise<void> {
  const found = await Promise.all(
    AT_BOOT.map(async ({ judge, levels }) => {
      const judgements = await judgementsOf(judge, server);
      return judgements.filter(({ level }) => (levels as readonly string[]).includes(level));
    }),
  );
  for (const [first, ...others] of found) {
    if (!first) continue;
    const alike = others.length > 0 ? ` There is as much to say of ${counted(others.length, 'other server')}.` : '';
    log.warn(`${first.message} ${first.advice}${alike}`);
  }
}

async function answers(node: InspectedNode): Promise<boolean> {
  return node.roundTrip().then(
    () => true,
    (reason: unknown) => reason instanceof NotTold && reason.refused,
  );
}

async function judgementsOf(judge: ServerCheck, server: InspectedServer): Promise<readonly Judgement[]> {
  return judge(server).catch((reason: unknown) => [unknown(server.address, reason)]);
}
