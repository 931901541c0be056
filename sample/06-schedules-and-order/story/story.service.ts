import { setTimeout as sleep } from 'node:timers/promises';
import { inspect, isDeepStrictEqual } from 'node:util';
import { Injectable } from '@nestjs/common';
import { DelayQueueConsumers, DelayQueueProducer } from 'nestjs-delay-queue';
import { StockCountHandler } from '../counts/stock-count.handler.js';
import { NoticesService } from '../notices/notices.service.js';
import { ParcelStepHandler } from '../parcels/parcel-step.handler.js';
import { type ParcelStep, parcelStep } from '../parcels/parcel-step.topic.js';

/** How long the story waits for something to come true, in milliseconds. */
const PATIENCE = 20_000;

/** Plays four scenes in the warehouse, tells what happens, and checks it. */
@Injectable()
export class StoryService {
  private cameTrue = true;

  constructor(
    private readonly producer: DelayQueueProducer,
    private readonly consumers: DelayQueueConsumers,
    private readonly parcels: ParcelStepHandler,
    private readonly notices: NoticesService,
    private readonly counts: StockCountHandler,
  ) {}

  /** @returns whether every part of it came true */
  async play(): Promise<boolean> {
    await this.stepsInOrder();
    await this.oneNotice();
    await this.counting();
    await this.service();
    console.log(this.cameTrue ? 'Every part of the story came true.' : 'A part of the story did not come true.');
    return this.cameTrue;
  }

  private async stepsInOrder(): Promise<void> {
    console.log('\nA label cannot be read at first. What follows for that parcel waits; the other parcel does not.');
    this.parcels.unreadable.add('parcel-1');
    await this.publishSteps('parcel-1', 'packed', 'shipped', 'delivered');
    await this.publishSteps('parcel-2', 'packed');
    await this.until(() => this.parcels.done.includes('parcel-1 is delivered'));
    this.expect('the steps of parcel-1 are done in order', [
      this.stepsOf('parcel-1'),
      ['parcel-1 could not be scanned', 'parcel-1 is packed', 'parcel-1 is shipped', 'parcel-1 is delivered'],
    ]);
    const { done } = this.parcels;
    const isAhead = done.indexOf('parcel-2 is packed') < done.indexOf('parcel-1 is packed');
    this.expect('parcel-2 did not wait for it', [isAhead, true]);
  }

  private async oneNotice(): Promise<void> {
    console.log(
      '\nA parcel changes ten times. Its customer is told once a second at most, and of the last change in the end.',
    );
    for (let change = 1; change <= 10; change++) {
      await this.notices.changed('Ada', `change ${change}`);
      await sleep(150);
    }
    await this.until(() => this.notices.sent.at(-1)?.change === 'change 10');
    this.expect('there are fewer notices than changes', [this.notices.sent.length < 10, true]);
  }

  private async counting(): Promise<void> {
    console.log('\nThe shelves are counted every second, whoever is there to do it.');
    const before = this.counts.times.length;
    await this.until(() => this.counts.times.length >= before + 3);
    const times = this.counts.times.map((time) => time.getTime());
    const gaps = times.slice(1).map((time, i) => time - (times[i] as number));
    this.expect('each count is a second after the one before', [new Set(gaps), new Set([1000])]);
  }

  private async service(): Promise<void> {
    console.log('\nThe scanner is serviced: this process takes no parcels meanwhile. Nothing is lost.');
    await this.consumers.stop(parcelStep);
    await this.publishSteps('parcel-3', 'packed', 'shipped');
    await sleep(500);
    this.expect('nothing is scanned during the service', [this.stepsOf('parcel-3'), []]);
    await this.consumers.start(parcelStep);
    await this.until(() => this.stepsOf('parcel-3').length === 2);
    this.expect('afterwards everything is, in order', [
      this.stepsOf('parcel-3'),
      ['parcel-3 is packed', 'parcel-3 is shipped'],
    ]);
  }

  private stepsOf(parcel: string): string[] {
    return this.parcels.done.filter((line) => line.startsWith(parcel));
  }

  private async publishSteps(parcel: string, ...steps: ParcelStep['step'][]): Promise<void> {
    for (const step of steps) await this.producer.publish(parcelStep, { parcel, step }, { key: parcel });
  }

  private async until(isTrue: () => boolean): Promise<void> {
    const end = Date.now() + PATIENCE;
    while (!isTrue() && Date.now() < end) await sleep(20);
  }

  private expect(what: string, [seen, wanted]: readonly [unknown, unknown]): void {
    const isSo = isDeepStrictEqual(seen, wanted);
    console.log(`  ${isSo ? '✓' : '✗'} ${what}`);
    if (isSo) return;
    this.cameTrue = false;
    console.log(`    seen: ${inspect(seen)}, wanted: ${inspect(wanted)}`);
  }
}
