import type { ModuleMetadata } from '@nestjs/common';
import type { TestingModule } from '@nestjs/testing';
import {
  type BackgroundError,
  type DelayQueueModuleOptions,
  DelayQueueAdmin,
  DelayQueueEvents,
  DelayQueueModule,
  DelayQueueProducer,
  DelayQueueReceiver,
  type ReceiveOptions,
  type ReceivedMessage,
  type TopicOptions,
} from 'nestjs-delay-queue';
import { DelayQueueHarness } from 'nestjs-delay-queue/testing';
import type { LogBook } from '../app/log-book.js';
import { boot } from './kit-bed.js';

/** What these processes receive. */
export const TOPIC = 'images';

/** An application on a harness that it may share with others. */
export class ReceivingProcess {
  static async start(
    harness: DelayQueueHarness,
    settings: TopicOptions = {},
    { providers = [], ...options }: DelayQueueModuleOptions & Pick<ModuleMetadata, 'providers'> = {},
  ): Promise<ReceivingProcess> {
    const topics = { [TOPIC]: { partitions: 4, ...settings } };
    const imports = [DelayQueueModule.forRoot({ topics, ...options })];
    const { module, logs } = await boot({ imports, providers }, harness);
    return new ReceivingProcess(module, logs);
  }

  /** One that has a harness to itself. */
  static async alone(settings?: TopicOptions): Promise<{ harness: DelayQueueHarness; process: ReceivingProcess }> {
    const harness = new DelayQueueHarness();
    return { harness, process: await ReceivingProcess.start(harness, settings) };
  }

  readonly receiver: DelayQueueReceiver;
  readonly producer: DelayQueueProducer;
  readonly admin: DelayQueueAdmin;
  readonly errors: BackgroundError[] = [];

  constructor(
    readonly module: TestingModule,
    readonly logs: LogBook,
  ) {
    this.receiver = module.get(DelayQueueReceiver);
    this.producer = module.get(DelayQueueProducer);
    this.admin = module.get(DelayQueueAdmin);
    module.get(DelayQueueEvents).errors.subscribe((error) => this.errors.push(error));
  }

  async receive(options?: ReceiveOptions): Promise<ReceivedMessage[]> {
    return this.receiver.receive(TOPIC, options);
  }

  /** The same for a limited topic, where it takes its time. */
  async receiveLimited(harness: DelayQueueHarness, options?: ReceiveOptions): Promise<ReceivedMessage[]> {
    const receiving = this.receive(options);
    await harness.advance(20);
    return receiving;
  }

  /** One that has to be there. */
  async receiveOne(options?: ReceiveOptions): Promise<ReceivedMessage> {
    const [message] = await this.receive(options);
    if (!message) throw new Error('There is nothing to receive.');
    return message;
  }

  async publish(...ids: readonly string[]): Promise<void> {
    for (const id of ids) await this.producer.publish(TOPIC, `payload of ${id}`, { id });
  }

  async inFlight(): Promise<number> {
    return (await this.admin.stats(TOPIC)).inFlight;
  }
}

export function idsOf(messages: readonly ReceivedMessage[]): string[] {
  return messages.map(({ id }) => id);
}
