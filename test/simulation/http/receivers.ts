import type { SettleStatus } from '../../../lib/messages/settle-status.js';
import type { Scene } from '../fleet/scene.js';
import { LONGEST_LEASE, TOPICS } from '../fleet/topics.js';
import type { Asked, Holding, Outcome } from '../rules/receipt-rules.js';
import type { Payload } from '../work/payload.js';
import { MOST_AT_ONCE, OUTSIDE, PAUSE, RECEIVING, shortened } from '../work/receivers.js';
import type { Answered, HttpClient, Serving } from './client.js';

/** What a gateway says of a message, as far as whoever has it goes by that. */
interface Given {
  readonly id: string;
  readonly topic: string;
  readonly key: string;
  readonly payload: Payload;
  readonly attempt: number;
  readonly lease: number;
  readonly receipt: string;
}

interface Settlement extends Outcome {
  readonly holding: Holding;
  readonly receipt: string;
}

/** Receives what nobody handles through gateways, and settles it through others. */
export async function receiveOverHttp(scene: Scene, client: HttpClient, topic: string): Promise<void> {
  const { random } = client;
  const { limits } = TOPICS[topic] ?? {};
  // Whoever receives first with no limits known would receive without limits.
  const isFit = ({ isTold }: Serving): boolean => isTold || limits === undefined || areKept(scene, topic);
  while (!scene.isClosed) {
    const lease = Math.round(random.between(RECEIVING.shortestLease, LONGEST_LEASE));
    const wait = random.integer(0, RECEIVING.longestWait);
    const body = { max: random.integer(1, MOST_AT_ONCE), wait, lease };
    const askedAt = scene.world.now;
    const answered = await client.ask({ path: `/v1/topics/${topic}/receive`, body }, wait, isFit);
    if (answered?.status !== 200) {
      await client.sleep(PAUSE);
      continue;
    }
    await new Received(scene, client, answered, askedAt).use();
  }
}

/** Whether the limits of a topic are stored, and nothing that is stored gets lost: then a process may have been told none of them. */
function areKept({ faults, server }: Scene, topic: string): boolean {
  const { failOverEvery, forgottenWorst } = faults;
  return (
    failOverEvery === Infinity &&
    forgottenWorst === 0 &&
    server.data.call('HGET', `{dq:${topic}}:config`, 'limits') !== null
  );
}

/** What came with one answer, and what becomes of it: all of it is settled together. */
class Received {
  readonly #scene: Scene;
  readonly #client: HttpClient;
  readonly #messages: readonly Given[];
  readonly #holdings: readonly Holding[];

  constructor(scene: Scene, client: HttpClient, { body, by }: Answered, askedAt: number) {
    this.#scene = scene;
    this.#client = client;
    this.#messages = (body as { readonly messages: readonly Given[] }).messages;
    this.#holdings = this.#messages.map((message) => this.#begin(message, by, askedAt));
  }

  #begin(message: Given, by: Serving, askedAt: number): Holding {
    const { world, rules } = this.#scene;
    const lapse = new AbortController();
    world.at(askedAt + shortened(message.lease), () => lapse.abort());
    const { signal } = lapse;
    world.trace(by.name, `gives attempt ${message.attempt} of ${message.id} to ${OUTSIDE.name}`);
    const ofGateway = by.gateway.signalOf(message.receipt) ?? signal;
    return rules.receipts.begin(by, { ...message, signal: ofGateway }, signal, OUTSIDE, signal);
  }

  async use(): Promise<void> {
    const { faults, rules } = this.#scene;
    const { random } = this.#client;
    const [first] = this.#messages;
    if (!first) return;
    if (random.next() < faults.lapses) {
      for (const holding of this.#holdings) rules.receipts.lapses(holding);
      return this.#client.sleep(LONGEST_LEASE);
    }
    await this.#client.sleep(Math.min(first.payload.takes, first.lease / 2));
    const settlements = this.#messages.map((message, i): Settlement => {
      const isBack = random.next() < 0.05;
      const outcome = isBack ? 'release' : message.attempt <= message.payload.throws ? 'retry' : 'ack';
      const delay = outcome === 'ack' || random.next() < 0.5 ? undefined : random.integer(0, RECEIVING.longestDelay);
      return { holding: this.#holdings[i] as Holding, receipt: message.receipt, outcome, delay };
    });
    const [one] = settlements;
    if (one && random.next() < faults.twice)
      settlements.push({ ...one, delay: undefined, outcome: random.pick(['ack', 'retry', 'release']) });
    await this.#settle(settlements);
  }

  async #settle(settlements: readonly Settlement[]): Promise<void> {
    const { rules } = this.#scene;
    const asked = settlements.map(({ holding, outcome, delay }) =>
      rules.receipts.asks(holding, { outcome, delay }, OUTSIDE),
    );
    const given = settlements.map(({ receipt, outcome, delay }) => ({ receipt, outcome, delay }));
    const request = { path: '/v1/settle', body: { settlements: given }, key: this.#client.nextKey() };
    const answered = await this.#client.askAgain(request, PAUSE);
    if (answered?.status === 200) return this.#note(asked, answered);
    const error = new Error(answered ? `${answered.status}: ${JSON.stringify(answered.body)}` : 'nobody answers');
    for (const one of asked) rules.receipts.failed(one, error);
    // Its lease may have ended with a process that does not know it.
    if (answered) rules.failed('a settle over HTTP', error);
  }

  #note(asked: readonly Asked[], { body }: Answered): void {
    const { results } = body as { readonly results: readonly { readonly status: SettleStatus }[] };
    for (const [i, one] of asked.entries()) this.#scene.rules.receipts.answered(one, results[i]?.status);
  }
}
