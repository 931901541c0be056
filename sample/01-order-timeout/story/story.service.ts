import { Injectable } from '@nestjs/common';
import { DelayQueueEvents } from 'nestjs-delay-queue';
import { AppConfig } from '../config/app.config.js';
import { OrdersService } from '../orders/orders.service.js';
import { Checklist } from './checklist.js';
import { DeliveryLog } from './delivery-log.js';
import { deliveryReports } from './delivery-reports.js';
import { narrate } from './narration.js';
import { Proofs } from './proofs.js';
import { playCustomers } from './script.js';
import { ShopClient } from './shop.client.js';
import type { Stage } from './stage.interface.js';
import { Timeline } from './timeline.js';

@Injectable()
export class StoryService {
  constructor(
    private readonly events: DelayQueueEvents,
    private readonly orders: OrdersService,
    private readonly config: AppConfig,
  ) {}

  /** @returns whether each part of the story came true */
  async play(url: string): Promise<boolean> {
    const timeline = new Timeline();
    const checklist = new Checklist();
    const log = new DeliveryLog(this.events);
    const stage: Stage = { shop: new ShopClient(url), timeline, log, checklist };
    this.narrateTo(timeline);

    console.log(`\nAn order that is not paid within ${this.config.paymentWindow} is closed by a delayed message.\n`);
    timeline.heading();
    const cast = await checklist.check('orders are placed, paid and cancelled', () => playCustomers(stage));
    if (cast) await new Proofs(stage, cast).checkAll();
    log.close();

    console.log(`\nThe story ${checklist.cameTrue ? 'came true' : 'did not come true'}:\n${checklist.toString()}`);
    return checklist.cameTrue;
  }

  /** Continues after the story, for orders that users of the API place then. */
  private narrateTo(timeline: Timeline): void {
    deliveryReports(this.events).subscribe((report) => {
      const order = this.orders.get(report.id);
      timeline.tell(order.item, narrate(report, order), report.lateness);
    });
  }
}
