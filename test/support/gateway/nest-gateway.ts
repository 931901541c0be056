import type { AddressInfo } from 'node:net';
import { type INestApplication, Module, UnauthorizedException } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DelayQueueModule } from 'nestjs-delay-queue';
import { type GatewayAccess, DelayQueueGatewayModule } from 'nestjs-delay-queue/gateway';
import { type Gateway, type GatewaySettings, READ_TOKEN, TOKEN } from './gateway.js';

/** Who has no token is told so by the application, in the form that the gateway itself has. */
const UNKNOWN = {
  type: 'urn:nestjs-delay-queue:problem:unauthorized',
  title: 'Unauthorized',
  status: 401,
  detail: 'The request has no token that is known.',
  code: 'UNAUTHORIZED',
} as const;

const byToken: GatewayAccess = ({ headers }, { right }) => {
  if (headers.authorization === `Bearer ${TOKEN}`) return true;
  if (headers.authorization === `Bearer ${READ_TOKEN}`) return right === 'read';
  throw new UnauthorizedException(UNKNOWN);
};

/** What the type of Nest's own for it says needs the types of Express. */
interface ExpressApplication extends INestApplication {
  useBodyParser(parser: 'json', options: { limit: string }): this;
}

/** Starts a small application that has the gateway at a path of its own. */
export async function startNestGateway(settings: GatewaySettings): Promise<Gateway> {
  const { redisUrl, topics, topicOptions = { partitions: 2 }, publishTimeout, maxIdleWait } = settings;
  @Module({
    imports: [
      DelayQueueModule.forRoot({
        redis: redisUrl,
        defaults: topicOptions,
        ...(maxIdleWait !== undefined && { consumer: { maxIdleWait } }),
        ...(publishTimeout !== undefined && { publishTimeout }),
      }),
      DelayQueueGatewayModule.forRoot({ path: 'delay-queue', topics: [...topics], access: byToken }),
    ],
  })
  class AppModule {}

  const app = await NestFactory.create<ExpressApplication>(AppModule, { logger: false, abortOnError: false });
  // A payload of more than 1 MiB is to be refused by the gateway, and not before it.
  app.useBodyParser('json', { limit: '8mb' });
  await app.listen(0, '127.0.0.1');
  const server = app.getHttpServer() as { address(): AddressInfo };
  return { url: `http://127.0.0.1:${server.address().port}/delay-queue`, close: async () => app.close() };
}
