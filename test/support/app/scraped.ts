import { Controller, Get, Header, type Type } from '@nestjs/common';
import { Registry } from 'prom-client';
import { prometheusMetrics } from 'nestjs-delay-queue/prometheus';
import { Scrape } from '../readings/prometheus-text.js';
import type { AppSetup, Bed, RunningApp } from './bed.js';

/** An application that Prometheus could scrape. */
export interface ScrapedApp {
  readonly app: RunningApp;
  readonly registry: Registry;
  /** Requests its endpoint. */
  readonly scrape: () => Promise<Scrape>;
}

/** Boots an application with metrics in a separate registry and an endpoint for them. */
export async function startScraped(bed: Bed, { options = {}, ...setup }: AppSetup = {}): Promise<ScrapedApp> {
  const registry = new Registry();
  const app = await bed.start({
    ...setup,
    controllers: [metricsController(registry)],
    options: { ...options, metrics: prometheusMetrics({ registry }) },
  });
  await app.nest.listen(0, '127.0.0.1');
  const url = await app.nest.getUrl();
  return {
    app,
    registry,
    scrape: async () => {
      const response = await fetch(`${url}/metrics`, { headers: { connection: 'close' } });
      if (!response.ok) throw new Error(`The scrape failed with ${response.status}.`);
      return new Scrape(await response.text());
    },
  };
}

function metricsController(registry: Registry): Type {
  @Controller('metrics')
  class MetricsController {
    @Get()
    @Header('content-type', registry.contentType)
    async metrics(): Promise<string> {
      return registry.metrics();
    }
  }
  return MetricsController;
}
