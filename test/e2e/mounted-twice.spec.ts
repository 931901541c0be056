import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DelayQueueModule } from 'nestjs-delay-queue';
import { DelayQueueDashboardModule } from 'nestjs-delay-queue/dashboard';
import { DelayQueueGatewayModule } from 'nestjs-delay-queue/gateway';
import { expect, it } from 'vitest';
import { useBed } from '../support/app/bed.js';
import { LogBook } from '../support/app/log-book.js';

const bed = useBed();

it.each(['reference', 'deep-hash'] as const)(
  'the gateway and the dashboard are served at each of their paths, if modules are told apart by %s',
  async (moduleIdGeneratorAlgorithm) => {
    const mounts = ['first', 'second'].flatMap((name) => [
      DelayQueueGatewayModule.forRoot({ path: `${name}/gateway`, topics: [name], access: () => true }),
      DelayQueueDashboardModule.forRoot({ path: `${name}/queues`, access: () => 'read' }),
    ]);
    const logs = new LogBook();
    @Module({ imports: [DelayQueueModule.forRoot(bed.options()), ...mounts] })
    class AppModule {}
    const options = { logger: logs, abortOnError: false, moduleIdGeneratorAlgorithm };
    const { nest } = bed.adopt(await NestFactory.create(AppModule, options), logs);
    await nest.listen(0, '127.0.0.1');
    const url = await nest.getUrl();
    for (const name of ['first', 'second']) {
      const topics = await fetch(`${url}/${name}/gateway/v1/topics`);
      expect(await topics.json()).toEqual({ topics: [name] });
      expect((await fetch(`${url}/${name}/queues/api/session`)).status).toBe(200);
    }
  },
);
