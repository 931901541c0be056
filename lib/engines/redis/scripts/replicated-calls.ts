import type { ChainableCommander, Cluster, Redis } from 'ioredis';
import { BrokerUnavailableError } from '../../../errors/operation.errors.js';
import { isSameRequirement, type ReplicaRequirement, RequirementNumbers } from '../../../messages/replicas.js';
import type { Log } from '../../../log.js';
import type { Clock } from '../../../time/clock.js';
import type { Argument } from '../../../store/lua/lua-script.js';
import type { RedisClient } from '../connection/redis-clients.js';
import type { RedisConnection } from '../connection/redis-connection.js';
import { isConnectionLoss, isMoved } from '../connection/redis-errors.js';
import type { ScriptClient, ScriptCommandName } from './script-client.js';
import { within } from '../../../time/deadline.js';
import { Loop } from '../../../time/loop.js';

/** Time for an answer beyond the wait for replicas, after which the connection is taken for dead; in milliseconds. */
const ANSWER_TIME = 10_000;

/** EVALSHA or EVAL with its arguments. */
interface ScriptCommand {
  readonly name: ScriptCommandName;
  readonly args: readonly Argument[];
}

/** A script's reply, and the number of replicas that have what it wrote. */
interface ConfirmedReply {
  readonly reply: unknown;
  readonly confirmedBy: number;
}

interface WaitingCall {
  readonly command: ScriptCommand;
  readonly replicas: ReplicaRequirement;
  /** Time until which replicas can confirm, on the local clock; epoch milliseconds. */
  readonly deadline: number;
  readonly resolve: (confirmed: ConfirmedReply) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * A connection to a primary for scripts that replicas have to confirm. Nothing else goes over it: WAIT keeps its connection
 * busy until the replicas have answered. Scripts that come during a WAIT are sent together after it, with one WAIT for all of
 * them. They go in one pipeline with their WAIT: on another connection it would not cover what they wrote. The time in the queue counts: each
 * is answered when its own time is over.
 */
export class ReplicatedLink {
  readonly #client: Redis;
  readonly #clock: Clock;
  readonly #sending: Loop;
  #queue: WaitingCall[] = [];

  constructor(client: Redis, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
    this.#sending = new Loop({ clock, run: () => this.#sendAll(), gather: true });
  }

  /** Runs a script, and rejects with the error of the script or of WAIT. A script whose WAIT failed may have run. */
  async run(command: ScriptCommand, replicas: ReplicaRequirement): Promise<ConfirmedReply> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ command, replicas, deadline: this.#clock.now() + replicas.timeout, resolve, reject });
      this.#sending.poke();
    });
  }

  /** Ends the connection; calls that wait for an answer fail. */
  close(): void {
    this.#client.disconnect();
  }

  /** Never rejects. */
  async #sendAll(): Promise<void> {
    for (let next = this.#queue[0]; next; next = this.#queue[0]) {
      const { replicas } = next;
      const together = this.#queue.filter((call) => isSameRequirement(call.replicas, replicas));
      this.#queue = this.#queue.filter((call) => !together.includes(call));
      try {
        await this.#send(together, replicas);
      } catch (error) {
        for (const { reject } of together) reject(error);
      }
    }
  }

  async #send(calls: readonly WaitingCall[], { min }: ReplicaRequirement): Promise<void> {
    const pipeline = this.#client.pipeline();
    for (const { command } of calls) pipeline.call(command.name, ...command.args);
    const answers = await this.#sendWithWait(pipeline, min, calls);
    let [waitError, confirmedBy] = answers.at(-1) as [Error | null, number];
    let waiting = calls.map((call, i) => ({ ...call, answer: answers[i] as [Error | null, unknown] }));
    while (waiting.length > 0) {
      const now = this.#clock.now();
      const isOver = ({ deadline, answer }: (typeof waiting)[number]): boolean =>
        answer[0] !== null || waitError !== null || confirmedBy >= min || deadline <= now;
      for (const call of waiting.filter(isOver)) {
        const [scriptError, reply] = call.answer;
        const error = scriptError ?? waitError;
        if (error) call.reject(error);
        else call.resolve({ reply, confirmedBy });
      }
      waiting = waiting.filter((call) => !isOver(call));
      if (waiting.length === 0) return;
      // It covers everything written on this connection.
      [[waitError, confirmedBy]] = (await this.#sendWithWait(this.#client.pipeline(), min, waiting)) as [
        [Error | null, number],
      ];
    }
  }

  /** Waits until the first of the calls has no time left. */
  async #sendWithWait(
    pipeline: ChainableCommander,
    min: number,
    calls: readonly WaitingCall[],
  ): Promise<[Error | null, unknown][]> {
    const first = Math.min(...calls.map(({ deadline }) => deadline));
    const timeout = Math.max(1, Math.ceil(first - this.#clock.now()));
    pipeline.wait(min, timeout);
    return this.#answersOf(pipeline.exec(), timeout + ANSWER_TIME);
  }

  async #answersOf<T>(answers: Promise<T[] | null>, patience: number): Promise<T[]> {
    try {
      return (await within(this.#clock, patience, answers)) ?? [];
    } catch (error) {
      this.#client.disconnect(true);
      throw error;
    }
  }
}

interface ReplicatedCallsOptions {
  readonly connection: RedisConnection;
  readonly clock: Clock;
}

/**
 * Runs scripts that replicas have to confirm, on connections of their own to each primary, made at their first use: one for each of a few
 * requirements, since WAIT keeps its connection busy.
 */
export class ReplicatedCalls {
  readonly #connection: RedisConnection;
  readonly #clock: Clock;
  /** Connections by the primary's host and port in a Cluster, and by their number. */
  readonly #links = new Map<string, ReplicatedLink>();
  /** Numbers of the connections. */
  readonly #numbers = new RequirementNumbers();
  #isAllowed = false;

  constructor({ connection, clock }: ReplicatedCallsOptions) {
    this.#connection = connection;
    this.#clock = clock;
  }

  /** Returns a client that sends one script, and knows afterwards how many replicas have confirmed it. */
  newCall(replicas: ReplicaRequirement): ReplicatedCall {
    return new ReplicatedCall((key, command) => this.#run(key, command, replicas));
  }

  /**
   * Asks Redis once whether WAIT is allowed: without replicas to wait for, it answers at once.
   *
   * @throws BrokerUnavailableError
   */
  async assertAllowed(): Promise<void> {
    if (this.#isAllowed) return;
    try {
      await this.#connection.send((redis) => redis.wait(0, 1));
    } catch (error) {
      if (!(error instanceof BrokerUnavailableError) || error.transient) throw error;
      throw new BrokerUnavailableError(
        `Replicas cannot confirm publishes, since Redis at ${this.#connection.address} refuses WAIT. Allow it (ACL SETUSER ` +
          `<user> +wait), or leave out the option 'replicas'. Nothing was published. ${error.message}`,
        { cause: error, transient: false },
      );
    }
    this.#isAllowed = true;
  }

  close(): void {
    for (const link of this.#links.values()) link.close();
    this.#links.clear();
  }

  async #run(key: string, command: ScriptCommand, replicas: ReplicaRequirement): Promise<ConfirmedReply> {
    await this.assertAllowed();
    const { commands } = this.#connection;
    const number = this.#numbers.of(replicas);
    if (!commands.isCluster) return this.#link(`${number}`, () => commands as Redis).run(command, replicas);
    const cluster = commands as Cluster;
    try {
      return await this.#linkInCluster(cluster, key, number).run(command, replicas);
    } catch (error) {
      if (isMoved(error) || isConnectionLoss(error)) cluster.refreshSlotsCache();
      throw error;
    }
  }

  #linkInCluster(cluster: Cluster, key: string, number: number): ReplicatedLink {
    const primary = this.#connection.nodes.addressOf(key, cluster) ?? '';
    return this.#link(`${number} ${primary}`, () => {
      const node = cluster.nodes('master').find(({ options: { host, port } }) => `${host}:${port}` === primary);
      if (node) return node;
      cluster.refreshSlotsCache();
      throw new BrokerUnavailableError(`Redis at ${this.#connection.address} failed: no primary holds ${key}`);
    });
  }

  /** @param template a client that leads to the same primary */
  #link(name: string, template: () => Redis): ReplicatedLink {
    const known = this.#links.get(name);
    if (known) return known;
    const client = this.#connection.openForReplicas(template());
    const link = new ReplicatedLink(client, this.#clock);
    this.#links.set(name, link);
    // A client of one node does not connect again: the slots may have another primary by then.
    client.once('end', () => this.#links.get(name) === link && this.#links.delete(name));
    return link;
  }
}

/** Sends a script, in place of a client. */
class ReplicatedCall implements ScriptClient {
  readonly #run: (key: string, command: ScriptCommand) => Promise<ConfirmedReply>;
  /** Number of replicas that have confirmed it. */
  confirmedBy = 0;

  constructor(run: (key: string, command: ScriptCommand) => Promise<ConfirmedReply>) {
    this.#run = run;
  }

  async send(name: ScriptCommandName, args: Argument[]): Promise<unknown> {
    const key = args[2];
    const { reply, confirmedBy } = await this.#run(String(key), { name, args });
    this.confirmedBy = confirmedBy;
    return reply;
  }
}

/**
 * Warns if publishes will be rejected for want of replicas. A Cluster is not looked at: its primaries differ.
 *
 * @param min how many replicas have to confirm each publish
 */
export async function warnOfFewReplicas(redis: RedisClient, min: number, address: string, log: Log): Promise<void> {
  if (redis.isCluster) return;
  const info = await redis.info('replication').catch(() => '');
  const connected = Number(/^connected_slaves:(\d+)/m.exec(info)?.[1] ?? min);
  if (connected >= min) return;
  log.warn(
    `Redis at ${address} has ${connected} connected replicas, and the option 'replicas' asks for ${min}: until there are ` +
      `more, each publish is rejected when its time to wait for them is over.`,
  );
}
