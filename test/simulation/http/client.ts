import type { Process } from '../fleet/process.js';
import type { Scene } from '../fleet/scene.js';
import { exponential } from '../world/accidents.js';
import type { SeededRandom } from '../../support/random.js';
import { Exchange, type HttpAnswer, type HttpRequest } from './exchange.js';
import type { Gateway } from './gateway.js';

/** How long somebody waits for an answer beyond the time that they have asked to wait, in milliseconds. */
const PATIENCE = 7000;

/** Mean time after which a connection breaks while it waits for its answer, in milliseconds. */
const BREAKING = 300;

/** Gateways know a request again for two minutes by the clock of Redis, which may be set ahead by one of them. In milliseconds. */
const KNOWN = 50_000;

/** A process with a gateway. */
export type Serving = Process & { readonly gateway: Gateway };

export interface Answered extends HttpAnswer {
  readonly by: Serving;
}

/** A program outside of the fleet that reaches its gateways through a balancer. */
export class HttpClient {
  readonly random: SeededRandom;
  readonly #scene: Scene;
  readonly #name: string;
  #asked = 0;

  constructor(scene: Scene, name: string) {
    this.#scene = scene;
    this.#name = name;
    this.random = scene.world.random(name);
  }

  /** An `Idempotency-Key` that nobody has used. */
  nextKey(): string {
    return `${this.#name}-${++this.#asked}`;
  }

  async sleep(delay: number): Promise<void> {
    return new Promise((resolve) => void this.#scene.world.after(delay, resolve));
  }

  /** Those that can be asked now. */
  gateways(): Serving[] {
    return [...this.#scene.processes].filter(
      (one): one is Serving => one.gateway !== undefined && !one.isDead && one.connection !== undefined,
    );
  }

  /**
   * Asks with one key until somebody answers, as the clients of the product do.
   *
   * @returns `undefined`: nobody has, for as long as the gateways know what was asked
   */
  async askAgain(request: HttpRequest & { readonly key: string }, pause: number): Promise<Answered | undefined> {
    const { world } = this.#scene;
    const until = world.now + KNOWN;
    while (world.now < until && !this.#scene.isClosed) {
      const answered = await this.ask(request);
      if (answered && answered.status !== 503) return answered;
      await this.sleep(pause);
    }
    return undefined;
  }

  /**
   * @param wait how long the gateway may wait, in milliseconds
   * @param isFit whether it may be asked
   * @returns `undefined`: there is no answer, and what became of it is not known
   */
  async ask(
    request: HttpRequest,
    wait = 0,
    isFit: (gateway: Serving) => boolean = () => true,
  ): Promise<Answered | undefined> {
    const { world, accidents, faults } = this.#scene;
    const fit = this.gateways().filter(isFit);
    if (fit.length === 0) return undefined;
    const gateway = this.random.pick(fit);
    const { name } = gateway;
    if (request.key !== undefined && accidents.happens('doubled request', faults.doubledRequests, name)) {
      this.#askOnceMore(request);
    }
    return new Promise((resolve) => {
      const exchange = new Exchange(request, (answer) => {
        if (accidents.happens('lost answer of a gateway', faults.lostHttp, name)) return resolve(undefined);
        world.after(this.#delay(), () => end({ ...answer, by: gateway }));
      });
      const giveUp = world.after(wait + PATIENCE, () => breaks());
      const end = (answered: Answered | undefined): void => {
        giveUp.run = undefined;
        resolve(answered && this.#checked(answered, request));
      };
      const breaks = (): void => {
        gateway.at(world.now, () => exchange.cut());
        end(undefined);
      };
      world.after(this.#delay(), () => {
        if (gateway.isDead || accidents.happens('lost request to a gateway', faults.lostHttp, name)) return breaks();
        gateway.at(world.now, () => gateway.gateway.answer(exchange));
        if (!accidents.happens('broken request', faults.lostHttp, name)) return;
        world.after(exponential(this.random, BREAKING), breaks);
      });
    });
  }

  /** Something on the way sends it again, and nobody gets the answer. */
  #askOnceMore(request: HttpRequest): void {
    const { world, faults } = this.#scene;
    world.after(Math.min(KNOWN, exponential(this.random, faults.copyDelay)), () => {
      const running = this.gateways();
      if (running.length === 0) return;
      const serving = this.random.pick(running);
      world.trace(serving.name, `gets a copy of ${request.key}`);
      serving.at(world.now, () => serving.gateway.answer(new Exchange(request, () => {})));
    });
  }

  #checked(answered: Answered, { path }: HttpRequest): Answered {
    const { status, body, by } = answered;
    if (status === 500) this.#scene.rules.failed(`${by.name} answers ${path}`, JSON.stringify(body));
    return answered;
  }

  #delay(): number {
    const { latency } = this.#scene.faults;
    return exponential(this.random, latency);
  }
}
