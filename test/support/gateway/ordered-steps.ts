import { randomUUID } from 'node:crypto';
import { until } from '../waiting.js';
import { GONE, NOT_THERE, WORKER_HEADER } from './alternating-balancer.js';

const KEYS = ['a', 'b', 'c', 'd', 'e', 'f'];
const STEPS = 10;

/** Of its topic, which has to be ordered. */
interface Received {
  readonly id: string;
  readonly key: string;
  readonly payload: number;
  readonly receipt: string;
}

export interface OrderedStepsOptions {
  /** Of the balancer. */
  readonly url: string;
  readonly token: string;
  readonly topic: string;
  /** Of what is received, in milliseconds. */
  readonly lease: number;
  /** How long a request waits for messages, in milliseconds. */
  readonly wait: number;
}

/** Most messages of a request. */
const MOST = 5;

/**
 * Messages of several keys in their order, which workers receive and settle over HTTP: of each three one is tried again first, one is released first,
 * and the rest is acknowledged at once. What fails is sent again.
 */
export class OrderedSteps {
  /** What was delivered of each key. */
  readonly delivered = new Map<string, number[]>(KEYS.map((key) => [key, []]));
  /** Requests for messages that a gateway had when it went. */
  unanswered = 0;
  readonly #options: OrderedStepsOptions;
  readonly #over = new AbortController();
  readonly #acked = new Set<string>();

  constructor(options: OrderedStepsOptions) {
    this.#options = options;
  }

  /** What {@link delivered} has in the end if nothing is lost, and nothing is delivered twice. */
  static get expected(): ReadonlyMap<string, readonly number[]> {
    const steps = Array.from({ length: STEPS }, (_, step) => (step % 3 === 0 ? [step] : [step, step]));
    return new Map(KEYS.map((key) => [key, steps.flat()]));
  }

  get count(): number {
    return this.#acked.size;
  }

  /** Publishes a message of each key, or several in their order. */
  async publish(from: number, to = from): Promise<void> {
    const steps = Array.from({ length: to - from + 1 }, (_, i) => from + i);
    const messages = steps.flatMap((payload) => KEYS.map((key) => ({ payload, key, id: `${key}${payload}` })));
    await this.#repeat('publisher', `/v1/topics/${this.#options.topic}/messages`, { messages });
  }

  /** Workers receive and settle until so many messages of each key are acknowledged, by default all. */
  async work(workers: readonly string[], steps = STEPS): Promise<void> {
    await Promise.all(workers.map(async (worker) => this.#work(worker, steps * KEYS.length)));
  }

  /** Ends all waiting. */
  end(): void {
    this.#over.abort();
  }

  async #work(worker: string, count: number): Promise<void> {
    const { topic, lease, wait } = this.#options;
    while (this.count < count && !this.#over.signal.aborted) {
      const answer = await this.#post(worker, `/v1/topics/${topic}/receive`, { max: MOST, wait, lease });
      if (answer === GONE) this.unanswered++;
      if (typeof answer !== 'object') continue;
      const messages = answer['messages'] as readonly Received[];
      if (messages.length === 0) continue;
      const settlements = messages.map((message) => ({ receipt: message.receipt, ...this.#outcomeOf(message) }));
      const { results } = await this.#repeat(worker, '/v1/settle', { settlements });
      for (const [i, { status }] of (results as readonly { status: string }[]).entries()) {
        const { id = '' } = messages[i] ?? {};
        if (status !== 'settled') throw new Error(`${id} is ${status}`);
        if (settlements[i]?.outcome === 'ack') this.#acked.add(id);
      }
      if (this.count === STEPS * KEYS.length) this.end();
    }
  }

  #outcomeOf({ key, payload }: Received): { outcome: string; delay?: number } {
    const delivered = this.delivered.get(key);
    const isFirst = !delivered?.includes(payload);
    delivered?.push(payload);
    if (isFirst && payload % 3 === 1) return { outcome: 'retry', delay: 10 };
    return { outcome: isFirst && payload % 3 === 2 ? 'release' : 'ack' };
  }

  /** Sends a request until a gateway has answered it. */
  async #repeat(worker: string, path: string, body: object): Promise<Record<string, unknown>> {
    const key = randomUUID();
    return until(`an answer to ${worker}`, async () => {
      const answer = await this.#post(worker, path, body, key);
      return typeof answer === 'object' && answer;
    });
  }

  /** @returns the status if no gateway has answered */
  async #post(worker: string, path: string, body: object, key?: string): Promise<Record<string, unknown> | number> {
    const { url, token } = this.#options;
    const headers = {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      [WORKER_HEADER]: worker,
      ...(key !== undefined && { 'idempotency-key': key }),
    };
    const init = { method: 'POST', headers, body: JSON.stringify(body) };
    const signal = key === undefined ? { signal: this.#over.signal } : {};
    // One that goes in the middle of its answer cuts it.
    const cut = (): [number, string] => [this.#over.signal.aborted ? NOT_THERE : GONE, ''];
    const [status, text] = await fetch(`${url}${path}`, { ...init, ...signal })
      .then(async (response): Promise<[number, string]> => [response.status, await response.text()])
      .catch(cut);
    if (status < 300) return JSON.parse(text) as Record<string, unknown>;
    if (text === '' && (status === GONE || status === NOT_THERE)) return status;
    throw new Error(`${status}: ${text}`);
  }
}
