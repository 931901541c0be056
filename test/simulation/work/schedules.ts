import type { DelayedMessage } from '../../../lib/messages/delayed-message.interface.js';
import type { DeclaredSchedule } from '../../../lib/schedules/declared-schedules.js';
import type { Process } from '../fleet/process.js';
import type { Scene } from '../fleet/scene.js';
import { RECURRING } from '../fleet/topics.js';
import type { Begun } from '../rules/message-rules.js';
import { BEGIN } from '../world/world.js';
import { exponential } from '../world/accidents.js';
import type { Activity, Setting } from './activity.js';
import { served } from './errors.js';
import type { Payload } from './payload.js';
import { type Recurrence, drawRecurrence } from './recurrences.js';

/** A schedule, whatever its rule is. */
interface Plan {
  readonly id: string;
  readonly catchUp: 'all' | 'latest' | 'none';
  readonly overlap: 'allow' | 'skip';
  /** How long its messages are handled, in milliseconds. */
  readonly takes: number;
  /** Whether nobody changes it once it is stored. */
  readonly isSteady?: true;
}

const PLANS: readonly Plan[] = [
  { id: 'steady', catchUp: 'all', overlap: 'allow', takes: 5, isSteady: true },
  { id: 'changed', catchUp: 'all', overlap: 'allow', takes: 0 },
  { id: 'changed-too', catchUp: 'all', overlap: 'allow', takes: 20 },
  { id: 'latest', catchUp: 'latest', overlap: 'allow', takes: 0 },
  { id: 'none', catchUp: 'none', overlap: 'allow', takes: 0, isSteady: true },
  { id: 'alone', catchUp: 'all', overlap: 'skip', takes: 1500 },
];

/** What the handlers of each process declare. */
const DECLARED = { id: 'declared', every: 1500, startAt: BEGIN };
const DECLARED_RECURRENCE: Recurrence = { given: DECLARED, phase: BEGIN, step: DECLARED.every, isMeant: () => true };

/** Pause between two attempts to end all, in milliseconds. */
const PAUSE = 1000;

/** Somebody at each process who changes schedules. */
export const schedule: Activity = (setting) => {
  const { scene, run } = setting;
  if (hasSchedules(scene) || scene.rules.occurrences.areExpected) run('schedules', () => scheduleAll(setting));
};

function hasSchedules({ topics, faults }: Scene): boolean {
  return topics.includes(RECURRING) && faults.scheduleEvery !== Infinity;
}

/** Consumes with what the handlers of a process declare. */
export async function declaredSchedules(
  scene: Scene,
  process: Process,
  consume: (schedules: readonly DeclaredSchedule[]) => Promise<void>,
): Promise<void> {
  if (!hasSchedules(scene)) return consume([]);
  const { occurrences } = scene.rules;
  const { id, every, startAt } = DECLARED;
  occurrences.add(id, { catchesUp: true, skips: false });
  const given = { id, topic: RECURRING, payload: { takes: 0 }, every, startAt, catchUp: 'all' } as const;
  // What others declare at the same time is the same.
  const isSaid = occurrences.isChanging(id) || occurrences.stateOf(id)?.recurrence;
  const change = isSaid ? undefined : occurrences.asked(id, process);
  await consume([{ where: '@RecurringHandler on Apart.handle', schedule: given }]);
  if (change) occurrences.confirmed(id, change, { recurrence: DECLARED_RECURRENCE });
}

/** A message of a schedule says of itself only what is the same for all of its messages. */
export function asOccurrence({ id, topic, key, attempt, signal, payload }: DelayedMessage): Begun {
  const { takes } = payload as Pick<Payload, 'takes'>;
  return { topic, key, attempt, signal, payload: { id, key, index: 0, takes, throws: 0, hangs: false, earliest: 0 } };
}

async function scheduleAll(setting: Setting): Promise<void> {
  const { scene, process, random } = setting;
  const { faults, rules } = scene;
  for (const { id, catchUp, overlap } of PLANS) {
    rules.occurrences.add(id, { catchesUp: catchUp === 'all', skips: overlap === 'skip' });
  }
  while (hasSchedules(scene)) {
    await process.sleep(exponential(random, faults.scheduleEvery));
    if (!hasSchedules(scene) || !process.connection) break;
    const action = random.pick(ACTIONS);
    await served(() => action(setting, random.pick(PLANS)));
  }
  await end(setting);
}

type Action = (setting: Setting, plan: Plan) => Promise<void>;

/** As often as each stands here. */
const ACTIONS: readonly Action[] = [put, put, put, put, put, pause, resume, resume, remove, runNow, runNow, prune];

async function put({ scene, process, connection, random }: Setting, plan: Plan): Promise<void> {
  const { occurrences } = scene.rules;
  const { id, catchUp, overlap, takes } = plan;
  const recurrence = drawRecurrence(random, scene.server.now());
  const rule = occurrences.ruleOf(id);
  if (plan.isSteady && occurrences.stateOf(id)?.recurrence) return;
  const changes = [occurrences.asked(id, process), rule.asked(process)] as const;
  const given = { id, topic: RECURRING, payload: { takes }, catchUp, overlap, ...recurrence.given };
  try {
    const { next, paused } = await connection.schedules.upsert(given);
    const { phase = next?.getTime() } = recurrence;
    const stored = { ...recurrence, phase };
    scene.world.trace(process.name, `schedule ${id} is stored: ${JSON.stringify(recurrence.given)}`);
    rule.confirmed(changes[1], stored);
    // Where intervals count from is told only of what is not paused.
    if (phase === undefined) rule.forget();
    occurrences.confirmed(id, changes[0], { recurrence: paused ? undefined : stored });
  } catch (error) {
    rule.failed(changes[1]);
    occurrences.failed(id, changes[0]);
    throw error;
  }
}

async function pause(setting: Setting, plan: Plan): Promise<void> {
  await changeState(setting, plan, 'pause');
}

async function remove(setting: Setting, plan: Plan): Promise<void> {
  await changeState(setting, plan, 'remove');
}

async function resume(setting: Setting, plan: Plan): Promise<void> {
  await changeState(setting, plan, 'resume');
}

async function changeState(
  { scene, process, connection }: Setting,
  { id, isSteady }: Plan,
  method: 'pause' | 'resume' | 'remove',
): Promise<void> {
  if (isSteady) return;
  const { occurrences } = scene.rules;
  const asked = occurrences.asked(id, process);
  try {
    const isFound = await connection.schedules[method](id);
    scene.world.trace(process.name, `${method} of schedule ${id}: ${isFound}`);
    const recurrence = method === 'resume' ? occurrences.ruleOf(id).value : undefined;
    if (!isFound) occurrences.notFound(id, asked);
    else if (method === 'resume' && !recurrence) occurrences.resumed(id, asked);
    else occurrences.confirmed(id, asked, { recurrence });
  } catch (error) {
    occurrences.failed(id, asked);
    throw error;
  }
}

async function runNow({ scene, process, connection }: Setting, { id }: Plan): Promise<void> {
  if (!scene.rules.occurrences.stateOf(id)?.recurrence) return;
  const message = await connection.schedules.runNow(id).catch((error: unknown) => {
    if ((error as { code?: unknown }).code === 'INVALID_ARGUMENT') return undefined;
    throw error;
  });
  scene.world.trace(process.name, `schedule ${id} runs now: ${message?.id}`);
  if (message) scene.rules.occurrences.ranNow(message.id, id, message.dueAt.getTime());
}

/** All that was declared still is. */
async function prune({ scene, connection }: Setting): Promise<void> {
  const pruned = await connection.schedules.prune();
  if (pruned.length > 0) scene.rules.failed('prune', new Error(`${pruned.join()} is removed, and declared`));
}

/** One of the processes removes all schedules once they are caught up. */
async function end({ scene, process, connection }: Setting): Promise<void> {
  const { processes, rules } = scene;
  const { occurrences } = rules;
  while (process.connection && occurrences.areExpected) {
    await process.sleep(PAUSE);
    const first = [...processes].find((one) => !one.isDead && one.connection && !one.isService);
    // Another one may have removed them meanwhile, and what is stored after that is not ours.
    if (first !== process || !scene.isEnding || !occurrences.areExpected || !occurrences.isCaughtUp) continue;
    await served(async () => {
      const all = await connection.schedules.list();
      for (const { id } of all) {
        const asked = occurrences.asked(id, process);
        await connection.schedules.remove(id);
        occurrences.confirmed(id, asked, { recurrence: undefined });
      }
      if (all.length === 0) occurrences.areExpected = false;
    });
  }
}
