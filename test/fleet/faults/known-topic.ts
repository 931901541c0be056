import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ConfigurationError, DelayedHandler, DelayQueueModule } from 'nestjs-delay-queue';
import { PREFIX, TOPIC } from './programs/config.js';
import type { Scene } from './scene.js';

/**
 * The topic and its number of partitions are known again, and one who wants another number does not boot.
 *
 * @param within milliseconds
 */
export async function expectKnownTopic(scene: Scene, within: number): Promise<void> {
  const admin = await scene.admin();
  const isKnown = await scene.expectSoon(
    'topic-forgotten',
    'the topic and its partitions to be known',
    within,
    async () => {
      const [topics, { partitions }] = await Promise.all([admin.topics(), admin.stats(TOPIC)]);
      return topics.includes(TOPIC) && partitions.length === scene.partitions;
    },
  );
  // It would be the first to fix the number.
  if (!isKnown) return;
  const booted = await bootNewcomer(scene, scene.partitions + 1);
  scene.expect(
    booted instanceof ConfigurationError,
    'newcomer',
    `with ${scene.partitions + 1} partitions: ${String(booted)}`,
  );
}

/** @returns the error that kept it from booting, or what it booted with */
async function bootNewcomer({ address }: Scene, partitions: number): Promise<unknown> {
  @Injectable()
  class Worker {
    @DelayedHandler(TOPIC)
    handle(): void {}
  }

  @Module({
    imports: [DelayQueueModule.forRoot({ redis: address, prefix: PREFIX, topics: { [TOPIC]: { partitions } } })],
    providers: [Worker],
  })
  class Newcomer {}
  try {
    const app = await NestFactory.createApplicationContext(Newcomer, { logger: false, abortOnError: false });
    await app.close();
    return `booted with ${partitions} partitions`;
  } catch (error) {
    return error;
  }
}
