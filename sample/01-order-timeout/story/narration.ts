import type { Order } from '../orders/order.interface.js';
import { orderTimeout } from '../orders/order-timeout.topic.js';
import type { DeliveryReport } from './delivery-reports.js';

/** Puts the end of a delivery in words. */
export function narrate(report: DeliveryReport, order: Order): string {
  if (report.topic === orderTimeout.name) return `its payment window is over: ${order.status}`;
  return `${report.topic}, attempt ${report.attempt}: ${narrateEnding(report)}`;
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function narrateEnding(report: DeliveryReport): string {
  if (report.ending === 'retried') return `"${messageOf(report.error)}", again in ${report.delay} ms`;
  if (report.ending === 'dead') return `"${report.failure.message}", now a dead letter`;
  return 'done';
}
