import type { Log } from '../log.js';
import type { DelayQueueMetrics } from './delay-queue-metrics.interface.js';

/** Keeps metrics that throw from harming the work: what they throw is logged the first time, and has no other effect. */
export class HarmlessMetrics implements DelayQueueMetrics {
  readonly #metrics: DelayQueueMetrics;
  readonly #log: Log;
  #failed = false;

  constructor(metrics: DelayQueueMetrics, log: Log) {
    this.#metrics = metrics;
    this.#log = log;
  }

  countPublished(...args: Parameters<DelayQueueMetrics['countPublished']>): void {
    this.#try(() => this.#metrics.countPublished(...args));
  }

  countHandled(...args: Parameters<DelayQueueMetrics['countHandled']>): void {
    this.#try(() => this.#metrics.countHandled(...args));
  }

  countMissed(...args: Parameters<DelayQueueMetrics['countMissed']>): void {
    this.#try(() => this.#metrics.countMissed(...args));
  }

  countError(...args: Parameters<DelayQueueMetrics['countError']>): void {
    this.#try(() => this.#metrics.countError(...args));
  }

  observeLateness(...args: Parameters<DelayQueueMetrics['observeLateness']>): void {
    this.#try(() => this.#metrics.observeLateness(...args));
  }

  observeHandler(...args: Parameters<DelayQueueMetrics['observeHandler']>): void {
    this.#try(() => this.#metrics.observeHandler(...args));
  }

  observeScript(...args: Parameters<DelayQueueMetrics['observeScript']>): void {
    this.#try(() => this.#metrics.observeScript(...args));
  }

  /** Throws what the metrics throw: if they cannot work, the boot has to say so. */
  open(...args: Parameters<DelayQueueMetrics['open']>): () => void {
    return this.#metrics.open(...args);
  }

  #try(tell: () => void): void {
    try {
      tell();
    } catch (error) {
      if (this.#failed) return;
      this.#failed = true;
      this.#log.error(`The metrics failed, this is logged once: ${(error as Error).message}`, (error as Error).stack);
    }
  }
}
