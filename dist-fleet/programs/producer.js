var __decorate = (this && this.__decorate) || function (decorators, target, key, desc) {
    var c = arguments.length, r = c < 3 ? target : desc === null ? desc = Object.getOwnPropertyDescriptor(target, key) : desc, d;
    if (typeof Reflect === "object" && typeof Reflect.decorate === "function") r = Reflect.decorate(decorators, target, key, desc);
    else for (var i = decorators.length - 1; i >= 0; i--) if (d = decorators[i]) r = (c < 3 ? d(r) : c > 3 ? d(target, key, r) : d(target, key)) || r;
    return c > 3 && r && Object.defineProperty(target, key, r), r;
};
import 'reflect-metadata';
import { setTimeout as sleep } from 'node:timers/promises';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DelayQueueModule, DelayQueueProducer } from 'nestjs-delay-queue';
const config = JSON.parse(process.argv[2] ?? '{}');
const { redisUrl, prefix, topic, partitions, count, maxDelay, spread, idPrefix } = config;
let ProducerModule = class ProducerModule {
};
ProducerModule = __decorate([
    Module({
        imports: [
            DelayQueueModule.forRoot({ redis: redisUrl, prefix, topics: { [topic]: { partitions } }, consumer: false }),
        ],
    })
], ProducerModule);
const app = await NestFactory.createApplicationContext(ProducerModule, { logger: ['warn', 'error'] });
const producer = app.get(DelayQueueProducer);
const startedAt = performance.now();
const ids = [];
const pending = [];
for (let n = 0; n < count; n++) {
    const id = `${idPrefix}${n}`;
    ids.push(id);
    pending.push(producer.publish(topic, { n }, { id, delay: Math.random() * maxDelay }));
    const aheadBy = (n / count) * spread - (performance.now() - startedAt);
    if (aheadBy > 1)
        await sleep(aheadBy);
}
await Promise.all(pending);
process.send?.({ kind: 'published', ids });
await app.close();
process.disconnect?.();
