import 'reflect-metadata';
import { Controller, HttpCode, Inject, Module, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DelayQueueModule } from 'nestjs-delay-queue';
import { DelayQueueDashboardModule, type DashboardUser } from 'nestjs-delay-queue/dashboard';
import { Gateway, Handlers, NewsletterHandlers } from './handlers.js';

const { REDIS_URL, QUEUE_PREFIX, FLEET_EVENTS, NEWSLETTER } = process.env;

@Controller()
class MendController {
  constructor(@Inject(Gateway) readonly gateway: Gateway) {}

  @Post('mend')
  @HttpCode(204)
  mend(): void {
    this.gateway.isMended = true;
  }
}

@Module({
  imports: [
    DelayQueueModule.forRoot({
      redis: REDIS_URL ?? 'redis://127.0.0.1:6379',
      prefix: QUEUE_PREFIX ?? 'dashboard-shop',
      fleetEvents: FLEET_EVENTS === 'true',
      history: { keep: '7d' },
      // Some of its handlers hang.
      consumer: { shutdownTimeout: '500ms' },
      defaults: { partitions: 4, attempts: 2, backoff: { type: 'fixed', delay: 50 } },
      topics: {
        'order.timeout': { finished: { maxAge: '1h', maxCount: 1000 } },
        'email.welcome': { timeout: '20m' },
      },
    }),
    DelayQueueDashboardModule.forRoot({
      access: ({ headers: { 'x-user': user } }) =>
        typeof user === 'string' ? (JSON.parse(user) as DashboardUser) : 'none',
      redact: (payload) =>
        typeof payload === 'object' && payload && 'iban' in payload ? { ...payload, iban: '(hidden)' } : payload,
      traceUrl: 'https://traces.example.com/trace/{traceId}',
    }),
  ],
  controllers: [MendController],
  providers: [Gateway, Handlers, ...(NEWSLETTER === 'true' ? [NewsletterHandlers] : [])],
})
class ShopModule {}

const app = await NestFactory.create(ShopModule, { logger: ['error', 'warn'] });
app.enableShutdownHooks();
await app.listen(0, '127.0.0.1');
console.log(`shop is ready at ${await app.getUrl()}/queues/index.html`);
