import type { Copy } from './product/evaluate.js';
import { EPILOGUES } from './epilogue/epilogues.js';
import { Stage } from './epilogue/stage.js';
import { Fleet } from './fleet/fleet.js';
import { leftOfImports, leftovers } from './fleet/leftovers.js';
import type { Process } from './fleet/process.js';
import type { Scene } from './fleet/scene.js';
import { drawTopics } from './fleet/topics.js';
import type { Plan } from './plan.js';
import { withProductStacks } from './product/stacks.js';
import { type Engine, Server, createEngine } from './redis/server.js';
import { bury } from './work/burial.js';
import { Rules, type Violation } from './rules/rules.js';
import { type Accident, Accidents } from './world/accidents.js';
import { CALM, type Faults, drawFaults } from './world/faults.js';
import { BEGIN, type Listener, World } from './world/world.js';

/** How long nothing may be handled although something is left, once nothing goes wrong any more; and how long all may take. In milliseconds. */
const PATIENCE = 20_000;
const LONGEST_END = 10 * 60_000;

/** The longest that a simulation lasts, in milliseconds: it publishes less than was asked for then. */
const LONGEST = 3_600_000;

/** In one of so many seeds it is looked what is left after a long rest, which takes as much time as hundreds of deliveries. */
const RESTING = 8;

/** How often it is looked whether all is done, in milliseconds. */
const LOOK = 1000;

export interface Outcome {
  readonly plan: Plan;
  readonly hash: string;
  readonly topics: readonly string[];
  readonly faults: Faults;
  readonly accidents: readonly Accident[];
  readonly violations: readonly Violation[];
  readonly messages: number;
  readonly deliveries: number;
  readonly repeats: number;
  readonly calls: number;
  readonly events: number;
  /** Virtual milliseconds. */
  readonly lasted: number;
  /** Until all was done after the last accident, in virtual milliseconds. */
  readonly calmed: number;
}

const engines = new WeakMap<Copy, Engine>();

/** Plays a plan. The same plan and product give the same outcome, with any Node.js on any machine. */
export async function simulate(copy: Copy, plan: Plan, listener?: Listener): Promise<Outcome> {
  return withProductStacks(async () => play(copy, plan, listener));
}

async function play(copy: Copy, plan: Plan, listener: Listener | undefined): Promise<Outcome> {
  const world = new World(String(plan.seed));
  world.listener = listener;
  const random = world.random('product');
  const surroundings = {
    random,
    now: () => world.now,
    // Nobody can tell whose they are, so they are the world's.
    setTimer: (delay: number, run: () => void) => {
      const event = world.after(delay, run);
      return () => (event.run = undefined);
    },
  };
  copy.surroundings = surroundings;
  if (copy.beside) copy.beside.surroundings = surroundings;
  const engine = engines.get(copy) ?? createEngine(copy.product);
  engines.set(copy, engine);
  const drawn = { ...drawFaults(world), ...plan.faults };
  for (const name of plan.without ?? []) drawn[name] = CALM[name];
  const faults = { ...drawn };
  const server = new Server(world, engine, faults.shards);
  const accidents = new Accidents(world, plan.only);
  const { topics = drawTopics(world, faults.imports > 0) } = plan;
  const rules = new Rules({ world, server, accidents, topics });
  const processes = new Set<Process>();
  const scene: Scene = {
    world,
    server,
    copy,
    faults,
    accidents,
    rules,
    processes,
    topics,
    deployed: {},
    isEnding: false,
    isClosed: false,
  };
  const fleet = new Fleet(scene, plan.processes);
  fleet.start();

  const isEnough = (): boolean => rules.messages.confirmed >= plan.messages || rules.isBroken;
  await world.runUntil(isEnough, BEGIN + LONGEST);
  const lasted = world.now - BEGIN;
  accidents.end();
  scene.isEnding = true;
  Object.assign(faults, CALM);
  const calmSince = Math.max(world.now, server.wellFrom);
  const isStuck = (): boolean => world.now > Math.max(calmSince, rules.handledAt) + PATIENCE;
  do {
    await world.runUntil(() => rules.isBroken, world.now + LOOK);
    if (rules.messages.open === 0) bury(scene);
  } while (!rules.isBroken && isBusy(scene) && !isStuck() && world.now < calmSince + LONGEST_END);
  rules.conclude(world.now - calmSince);
  const left = [...leftovers(scene), ...leftOfImports(scene)];
  if (!rules.isBroken && left.length > 0) rules.left(left);
  if (!rules.isBroken) await fleet.closeServices();
  if (!rules.isBroken && world.random('rest').integer(1, RESTING) === 1) await rules.rest(plan.processes);
  const names = Object.keys(EPILOGUES);
  // In turn, so that so many seeds have all of them.
  const { epilogue = names[plan.seed % names.length] ?? '' } = plan;
  if (!rules.isBroken) await end(epilogue, new Stage(scene, fleet));
  return {
    plan,
    hash: world.hash,
    topics,
    faults: drawn,
    accidents: accidents.happened,
    violations: rules.violations,
    messages: rules.messages.confirmed,
    deliveries: rules.deliveries,
    repeats: rules.messages.repeats,
    calls: rules.calls,
    events: world.events,
    lasted,
    calmed: world.now - calmSince,
  };
}

async function end(epilogue: string, stage: Stage): Promise<void> {
  try {
    await stage.gather();
    await EPILOGUES[epilogue]?.(stage);
  } catch (error) {
    stage.scene.rules.failed(epilogue, error);
  }
}

function isBusy(scene: Scene): boolean {
  return (
    scene.rules.messages.open > 0 ||
    leftOfImports(scene).length > 0 ||
    scene.rules.occurrences.areExpected ||
    leftovers(scene).length > 0
  );
}
