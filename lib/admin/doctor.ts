import { errorText } from '../log.js';
import type { Broker } from '../store/broker.interface.js';
import { PROTOCOL_VERSION, SPOKEN, isSpoken } from '../store/fleet/topic-config.js';
import type { DoctorFinding } from '../store/inspection.interface.js';
import { BrokerUnavailableError } from '../errors/operation.errors.js';
import { type AdminDependencies, served } from './admin-dependencies.js';

/**
 * Result of `DelayQueueAdmin.doctor()`.
 *
 * @publicApi
 */
export interface DoctorReport {
  /** In the order of the checks, which is always the same. If Redis cannot be reached, that is the only one. */
  findings: DoctorFinding[];
}

/** Most topics that a message names. */
const MAX_NAMED = 5;

/** Checks everything that the promises need. Never rejects: what cannot be found out is a finding. */
export async function doctor(dependencies: AdminDependencies): Promise<DoctorReport> {
  const { broker, timeout } = dependencies;
  try {
    await served(dependencies, () => broker.link.ping());
  } catch (error) {
    return { findings: [unreachable(error)] };
  }
  const [findings, topics] = await Promise.all([broker.inspect(timeout / 2), checkTopics(dependencies)]);
  return { findings: [...findings, topics] };
}

function unreachable(error: unknown): DoctorFinding {
  return {
    check: 'connection',
    level: 'error',
    message: errorText(error),
    advice:
      "Look at the option 'redis' and at whether Redis runs and can be reached from here. Nothing else was looked at.",
  };
}

async function checkTopics(dependencies: AdminDependencies): Promise<DoctorFinding> {
  try {
    return await served(dependencies, () => findForeignTopics(dependencies.broker));
  } catch (error) {
    return {
      check: 'topics',
      level: 'warning',
      message: `Which protocol the topics speak is unknown: ${errorText(error)}`,
      advice:
        error instanceof BrokerUnavailableError && error.transient
          ? 'Look at which part of Redis is away.'
          : 'Look at what was refused, and allow it to the user of Redis.',
    };
  }
}

async function findForeignTopics(broker: Broker): Promise<DoctorFinding> {
  const topics = await broker.fleet.topics();
  // One call for all: it reads their second copies, which each process keeps equal to the topic's own.
  const configs = await broker.fleet.configsOf(topics);
  const foreign = topics.flatMap((topic, i) => {
    const { protocol = PROTOCOL_VERSION } = configs[i] ?? {};
    return isSpoken(protocol) ? [] : [`'${topic}' (protocol ${protocol})`];
  });
  if (foreign.length === 0) {
    const message = `Of ${topics.length} topics under this prefix, all speak a protocol that this version speaks: ${SPOKEN}.`;
    return { check: 'topics', level: 'ok', message, advice: '' };
  }
  const named = foreign.slice(0, MAX_NAMED).join(', ') + (foreign.length > MAX_NAMED ? ', …' : '');
  return {
    check: 'topics',
    level: 'error',
    message:
      `Of ${topics.length} topics under this prefix, ${foreign.length} speak none that this version speaks, ${SPOKEN}: ` +
      `${named}. Processes of this version do not boot with them.`,
    advice: 'Use the version of this library that wrote them until they are empty, or another prefix.',
  };
}
