import type { World } from './world.js';

/** How often things go wrong, and how badly. Times in milliseconds of the simulation; 0 as a share, and `Infinity` as a time: never. */
export interface Faults {
  // ── the way to Redis and back ───────────────────────────────────────────────────────────────────────────────────────
  /** Mean time of each way. */
  latency: number;
  /** Share of the ways that take a thousand times as long. */
  spikes: number;
  /** Share of the calls with which their connection is lost: before they arrive, and with their answer. */
  lostRequests: number;
  lostAnswers: number;
  /** Share of the calls of which a copy arrives later, and the mean time until then. */
  lateCopies: number;
  copyDelay: number;
  /** Share of the calls on a lost connection that the network still has, and of those that the client sends once more. */
  stillArrive: number;
  sentAgain: number;
  /** Longest time until a connection is there again. */
  reconnect: number;
  /** Share of one kind of calls of which a copy arrives later, or whose answers are lost with their connection; see {@link WORST}. */
  copiedWorst: number;
  lostWorst: number;
  lostSignals: number;
  doubledSignals: number;
  /** Mean time between two connections for signals that hear nothing for a while. */
  deafEvery: number;
  /** The same, of those that hear nothing more until they are made anew. */
  cutOffEvery: number;
  // ── processes ───────────────────────────────────────────────────────────────────────────────────────────────────────
  /** Mean time between two that are killed, stand still, or end as they should. */
  killEvery: number;
  freezeEvery: number;
  leaveEvery: number;
  /** Share of the calls just after which their process is killed, or stands still. */
  killedCalls: number;
  frozenCalls: number;
  /** The same of one kind of calls. */
  killedWorst: number;
  frozenWorst: number;
  /** How far clocks may be off. */
  skew: number;
  /** By how much they may be too fast or too slow, as a share of time. */
  drift: number;
  // ── Redis ───────────────────────────────────────────────────────────────────────────────────────────────────────────
  /** Mean time between two times in which it answers nobody, and what those take. */
  stallEvery: number;
  stall: number;
  /** Mean time between two failovers to a replica, and how much of what was written it lacks. `Infinity`: all of it. */
  failOverEvery: number;
  lag: number;
  /** How long Redis still loads its data after that, and the share of the connections that stay at what is a replica from then on. */
  loading: number;
  staysBehind: number;
  /** Share of one kind of calls that a failover forgets, though they were answered. */
  forgottenWorst: number;
  /** Mean time between two times in which its memory is full, and what those take. */
  fullEvery: number;
  full: number;
  /** Mean time between two at which its clock is set, and by how much at most. */
  stepEvery: number;
  step: number;
  /** Mean time between two at which another program damages a record. */
  damageEvery: number;
  // ── a Redis Cluster ─────────────────────────────────────────────────────────────────────────────────────────────────
  /** How many shards it has; 1: there is none. What befalls Redis befalls one of them. */
  shards: number;
  /** Mean time between two times in which nobody can connect to a shard, and what those take. */
  awayEvery: number;
  away: number;
  /** Mean time between two moves of a slot to another shard, and what those take. */
  moveEvery: number;
  move: number;
  /** Mean time between two times in which no slot is served, and what those take. */
  downEvery: number;
  down: number;
  // ── gateways ────────────────────────────────────────────────────────────────────────────────────────────────────────
  /** How many processes serve programs outside of the fleet over HTTP. */
  gateways: number;
  /** How many imports move the jobs of another queue, at the same time. */
  imports: number;
  /** Share of their requests whose connection breaks: before they arrive, while they are answered, or with the answer. */
  lostHttp: number;
  /** Share of the requests with an `Idempotency-Key` of which a copy arrives at a gateway later. */
  doubledRequests: number;
  // ── work ────────────────────────────────────────────────────────────────────────────────────────────────────────────
  /** Mean time between two publishes of one producer. */
  pause: number;
  /** Share of the messages that take up to three leases, that fail a few times, or that never end and ignore their signal. */
  slow: number;
  throws: number;
  hangs: number;
  /** Share of the messages that are published once more under the same id. */
  again: number;
  /** Share of the received messages that somebody outside of the fleet has, that are settled twice, or whose lease ends before. */
  outside: number;
  twice: number;
  lapses: number;
  /** Mean time between two actions of the operator of a process, and between two changes of schedules. */
  operateEvery: number;
  scheduleEvery: number;
}

/** Nothing goes wrong. */
export const CALM: Faults = {
  latency: 0.2,
  spikes: 0,
  lostRequests: 0,
  lostAnswers: 0,
  lateCopies: 0,
  copyDelay: 1000,
  copiedWorst: 0,
  lostWorst: 0,
  stillArrive: 0.5,
  sentAgain: 0.5,
  reconnect: 400,
  lostSignals: 0,
  doubledSignals: 0,
  deafEvery: Infinity,
  cutOffEvery: Infinity,
  killEvery: Infinity,
  freezeEvery: Infinity,
  leaveEvery: Infinity,
  killedCalls: 0,
  frozenCalls: 0,
  killedWorst: 0,
  frozenWorst: 0,
  skew: 0,
  drift: 0,
  stallEvery: Infinity,
  stall: 1000,
  failOverEvery: Infinity,
  lag: 100,
  loading: 0,
  staysBehind: 0,
  forgottenWorst: 0,
  fullEvery: Infinity,
  full: 2000,
  stepEvery: Infinity,
  step: 1000,
  damageEvery: Infinity,
  shards: 1,
  awayEvery: Infinity,
  away: 2000,
  moveEvery: Infinity,
  move: 500,
  downEvery: Infinity,
  down: 1000,
  gateways: 0,
  imports: 0,
  lostHttp: 0,
  doubledRequests: 0,
  pause: 400,
  slow: 0.02,
  throws: 0.03,
  hangs: 0,
  again: 0,
  outside: 0.2,
  twice: 0.01,
  lapses: 0,
  operateEvery: Infinity,
  scheduleEvery: Infinity,
};

interface Draw {
  /** Share of the seeds that have it. */
  readonly share: number;
  readonly from: number;
  readonly to: number;
}

/** Most faults are drawn so that each order of magnitude is as likely as another. */
const DRAWN: Partial<Record<keyof Faults, Draw>> = {
  latency: { share: 0.7, from: 0.05, to: 5 },
  spikes: { share: 0.5, from: 1e-5, to: 3e-3 },
  lostRequests: { share: 0.4, from: 1e-5, to: 1e-2 },
  lostAnswers: { share: 0.5, from: 1e-5, to: 1e-2 },
  lateCopies: { share: 0.4, from: 1e-4, to: 1e-2 },
  copyDelay: { share: 0.7, from: 10, to: 60_000 },
  copiedWorst: { share: 0.6, from: 3e-3, to: 0.1 },
  lostWorst: { share: 0.6, from: 3e-3, to: 0.1 },
  stillArrive: { share: 0.5, from: 0.01, to: 1 },
  sentAgain: { share: 0.5, from: 0.01, to: 1 },
  lostSignals: { share: 0.4, from: 1e-3, to: 1 },
  doubledSignals: { share: 0.3, from: 0.01, to: 0.2 },
  deafEvery: { share: 0.3, from: 5000, to: 60_000 },
  cutOffEvery: { share: 0.2, from: 10_000, to: 60_000 },
  killEvery: { share: 0.5, from: 500, to: 30_000 },
  freezeEvery: { share: 0.4, from: 500, to: 30_000 },
  leaveEvery: { share: 0.4, from: 2000, to: 30_000 },
  killedCalls: { share: 0.3, from: 1e-4, to: 5e-3 },
  frozenCalls: { share: 0.3, from: 1e-4, to: 1e-2 },
  killedWorst: { share: 0.4, from: 1e-3, to: 3e-2 },
  frozenWorst: { share: 0.6, from: 1e-3, to: 3e-2 },
  skew: { share: 0.5, from: 10, to: 100_000 },
  drift: { share: 0.3, from: 1e-6, to: 5e-5 },
  stallEvery: { share: 0.3, from: 3000, to: 60_000 },
  stall: { share: 0.7, from: 100, to: 10_000 },
  failOverEvery: { share: 0.4, from: 2000, to: 30_000 },
  lag: { share: 0.7, from: 1, to: 5000 },
  loading: { share: 0.4, from: 10, to: 3000 },
  staysBehind: { share: 0.3, from: 0.1, to: 1 },
  forgottenWorst: { share: 0.5, from: 3e-3, to: 0.1 },
  fullEvery: { share: 0.15, from: 2000, to: 30_000 },
  full: { share: 0.7, from: 100, to: 10_000 },
  stepEvery: { share: 0.15, from: 2000, to: 30_000 },
  step: { share: 0.7, from: 1, to: 60_000 },
  damageEvery: { share: 0.3, from: 300, to: 20_000 },
  awayEvery: { share: 0.5, from: 2000, to: 30_000 },
  away: { share: 0.7, from: 100, to: 20_000 },
  moveEvery: { share: 0.5, from: 500, to: 30_000 },
  move: { share: 0.7, from: 1, to: 5000 },
  downEvery: { share: 0.3, from: 3000, to: 60_000 },
  down: { share: 0.7, from: 10, to: 5000 },
  lostHttp: { share: 0.7, from: 3e-3, to: 0.1 },
  doubledRequests: { share: 0.7, from: 0.01, to: 0.3 },
  // Most faults are a matter of time: where many messages are published in a second, few happen until all are.
  pause: { share: 0.8, from: 30, to: 10_000 },
  slow: { share: 0.5, from: 0.01, to: 0.4 },
  throws: { share: 0.5, from: 0.01, to: 0.5 },
  hangs: { share: 0.3, from: 0.001, to: 0.02 },
  again: { share: 0.3, from: 0.01, to: 0.5 },
  outside: { share: 0.7, from: 0.05, to: 1 },
  twice: { share: 0.5, from: 0.01, to: 0.5 },
  lapses: { share: 0.5, from: 0.001, to: 0.1 },
  operateEvery: { share: 0.8, from: 50, to: 3000 },
  scheduleEvery: { share: 0.8, from: 300, to: 10_000 },
};

/** The calls of which each seed chooses one kind that goes wrong more often: most rules are about a few calls that are not frequent. */
export const WORST = ['claim', 'claim', 'claim', 'settle', 'permit', 'extend', 'acquire', 'release', 'hset'] as const;

/** The share of the seeds in which Redis is a Cluster, and the most shards that it has. */
const CLUSTERS = 0.4;
const MOST_SHARDS = 4;

/** The share of the seeds in which there are imports, and most of them. */
const IMPORTING = 0.3;
const MOST_IMPORTS = 3;

/** The share of the seeds in which there are gateways, and most of them. */
const SERVED = 0.5;
const MOST_GATEWAYS = 3;

/** In one of so many seeds nothing is stored when a failover has happened. */
const EMPTIED = 4;

/** Each seed leaves a random part out. Each kind is drawn by itself, so that a new one changes none of the others. */
export function drawFaults(world: World): Faults {
  const faults = { ...CALM };
  // So that some have few kinds of faults, and what one of them shows is not covered by the others.
  const many = world.random('how many kinds of faults').between(0.1, 1);
  for (const [name, { share, from, to }] of Object.entries(DRAWN) as [keyof Faults, Draw][]) {
    const random = world.random(`fault ${name}`);
    const value = Math.exp(random.between(Math.log(from), Math.log(to)));
    if (random.next() < share * many) faults[name] = value;
  }
  const cluster = world.random('cluster');
  if (cluster.next() < CLUSTERS) faults.shards = cluster.integer(2, MOST_SHARDS);
  const gateways = world.random('gateways');
  if (gateways.next() < SERVED) faults.gateways = gateways.integer(1, MOST_GATEWAYS);
  const imports = world.random('imports');
  // Of a Cluster, one shard could forget that a message was stored, and another one not that its job is gone.
  if (imports.next() < IMPORTING && faults.shards === 1) faults.imports = imports.integer(1, MOST_IMPORTS);
  if (world.random('emptied').integer(1, EMPTIED) === 1) faults.lag = Infinity;
  return faults;
}
