import 'reflect-metadata';
import { type CanActivate, type ExecutionContext, Injectable, Module, UseGuards } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  DelayQueueContext,
  DelayQueueEvents,
  DelayQueueModule,
  DelayQueueProducer,
  DelayedHandler,
  type DelayedMessage,
} from 'nestjs-delay-queue';
import { firstValueFrom } from 'rxjs';

// An application as users write it: compiled in several ways, and run, by package.spec.ts.

@Injectable()
class Guests {
  expects(name: string | undefined): boolean {
    return name === 'Ada';
  }
}

@Injectable()
class GuestGuard implements CanActivate {
  constructor(private readonly guests: Guests) {}

  canActivate(context: ExecutionContext): boolean {
    return this.guests.expects(DelayQueueContext.from(context).message.headers['from']);
  }
}

@Injectable()
class Greeter {
  constructor(private readonly producer: DelayQueueProducer) {}

  async greet(text: string, from: string): Promise<void> {
    await this.producer.publish('greetings', { text }, { delay: 10, headers: { from } });
  }

  @DelayedHandler('greetings')
  @UseGuards(GuestGuard)
  hear(payload: { text: string }, message: DelayedMessage): void {
    console.log(`heard ${payload.text} from ${message.headers['from']} (attempt ${message.attempt})`);
  }
}

@Module({
  imports: [DelayQueueModule.forRoot({ redis: process.env['REDIS_URL'] ?? '', prefix: process.env['PREFIX'] ?? '' })],
  providers: [Greeter, Guests],
})
class AppModule {}

async function main(): Promise<void> {
  console.log(typeof require === 'function' ? 'a CommonJS module' : 'an ES module');
  const app = await NestFactory.createApplicationContext(AppModule, { logger: false });
  const greeter = app.get(Greeter);
  const { acked, dead } = app.get(DelayQueueEvents);

  const handled = firstValueFrom(acked);
  await greeter.greet('hello', 'Ada');
  await handled;

  const refused = firstValueFrom(dead);
  await greeter.greet('psst', 'Eve');
  console.log(`refused: ${(await refused).failure.reason}`);
  await app.close();
}

void main();
