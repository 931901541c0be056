import 'reflect-metadata';
import { Injectable } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { DelayQueueProducer, DelayedHandler, type DelayedMessage } from 'nestjs-delay-queue';
import { DelayQueueHarness, DelayQueueTestingModule } from 'nestjs-delay-queue/testing';

@Injectable()
class Memory {
  @DelayedHandler('friends')
  remember(name: string, { dueAt, publishedAt }: DelayedMessage): void {
    console.log(`remembered ${name} after ${(dueAt.getTime() - publishedAt.getTime()) / 86_400_000} days`);
  }
}

async function main(): Promise<void> {
  const builder = Test.createTestingModule({ imports: [DelayQueueTestingModule.forRoot()], providers: [Memory] });
  const module = await builder.compile();
  await module.init();
  await module.get(DelayQueueProducer).publish('friends', 'Ada', { delay: '30d' });
  await module.get(DelayQueueHarness).advance('30d');
  await module.close();
}

void main();
