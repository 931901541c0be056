import type { DelayQueueConnection } from '../../../lib/composition/delay-queue.connection.js';
import type { DelayQueueReceiver } from '../../../lib/consumer/delay-queue.receiver.js';
import type { GatewayHandler } from '../../../lib/gateway/gateway.handler.js';
import type { Process } from '../fleet/process.js';
import type { Scene } from '../fleet/scene.js';
import type { Exchange } from './exchange.js';

/** The product's gateway in a process, as `nestjs-delay-queue gateway` has it, without its server. */
export class Gateway {
  readonly #scene: Scene;
  readonly #process: Process;
  readonly #handler: GatewayHandler;
  /** Of what it has received, by receipts. */
  readonly #signals = new Map<string, AbortSignal>();

  constructor(scene: Scene, process: Process, { producer, receiver, admin, schedules }: DelayQueueConnection) {
    const { GatewayHandler: Handler, ROUTES, servedTopics } = process.product;
    this.#scene = scene;
    this.#process = process;
    const line = (text: string): void => scene.world.trace(process.name, `gateway: ${text}`);
    this.#handler = new Handler({
      queues: { producer, receiver: this.#watched(receiver), admin, schedules },
      topics: servedTopics(scene.topics),
      routes: ROUTES,
      limits: { maxWaiting: 1000, maxBody: 1024 * 1024 },
      log: { warn: line, error: line },
    });
  }

  answer({ request, response, path, body }: Exchange): void {
    this.#handler
      .handle({ request, response, path, search: '', body, may: async () => true })
      .catch((error: unknown) => this.#scene.rules.failed(`${this.#process.name} answers ${path}`, error));
  }

  /** Those who are answered from now on are to go elsewhere. */
  close(): void {
    this.#handler.close();
  }

  /** Aborts when this process takes a message that it has given for one that nobody has any more. */
  signalOf(receipt: string): AbortSignal | undefined {
    return this.#signals.get(receipt);
  }

  #watched(receiver: DelayQueueReceiver): DelayQueueReceiver {
    const { receipts } = this.#scene.rules;
    const receive: DelayQueueReceiver['receive'] = async (topic, ...options) => {
      const name = typeof topic === 'string' ? topic : topic.name;
      const messages = await receipts.waits(this.#process, name, receiver.receive(topic, ...options));
      for (const message of messages) this.#signals.set(message.receipt, message.signal);
      return messages;
    };
    return new Proxy(receiver, {
      get: (target, name) => {
        if (name === 'receive') return receive;
        const member: unknown = Reflect.get(target, name);
        return typeof member === 'function' ? (member.bind(target) as unknown) : member;
      },
    });
  }
}
