import type { ChainableCommander, Redis } from 'ioredis';
import { type ReplicaRequirement, isSameRequirement } from '../../../messages/replicas.js';
import type { Clock } from '../../../time/clock.js';
import { within } from '../../../time/deadline.js';
import { Loop } from '../../../time/loop.js';
import type { Argument } from '../../../store/lua/lua-script.js';

/** How long Redis may take beyond the time that it waits for replicas; then the connection is taken for dead. In milliseconds. */
const ANSWER_TIME = 10_000;

/** EVALSHA or EVAL with its arguments. */
export interface ScriptCommand {
  readonly name: 'evalsha' | 'eval';
  readonly args: readonly Argument[];
}

/** A script's reply, and how many replicas have what it wrote. */
export interface ConfirmedReply {
  readonly reply: unknown;
  readonly confirmedBy: number;
}

interface WaitingCall {
  readonly command: ScriptCommand;
  readonly replicas: ReplicaRequirement;
  /** How long replicas may take, on the local clock; epoch milliseconds. */
  readonly deadline: number;
  readonly resolve: (confirmed: ConfirmedReply) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * A connection to a primary for scripts that replicas have to confirm. Nothing else goes over it: WAIT keeps its connection
 * busy until the replicas have answered. Scripts that come during a WAIT are sent together after it, with one WAIT for all of
 * them. They go in one pipeline with their WAIT: on another connection it would not speak of what they wrote. The time in the queue counts: each
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

  /** Rejects with what the script or WAIT failed with. A script whose WAIT failed may have run. */
  async run(command: ScriptCommand, replicas: ReplicaRequirement): Promise<ConfirmedReply> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ command, replicas, deadline: this.#clock.now() + replicas.timeout, resolve, reject });
      this.#sending.poke();
    });
  }

  /** What waits for an answer fails. */
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
      // It speaks of all that was written on this connection.
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
