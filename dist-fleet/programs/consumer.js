var __decorate = (this && this.__decorate) || function (decorators, target, key, desc) {
    var c = arguments.length, r = c < 3 ? target : desc === null ? desc = Object.getOwnPropertyDescriptor(target, key) : desc, d;
    if (typeof Reflect === "object" && typeof Reflect.decorate === "function") r = Reflect.decorate(decorators, target, key, desc);
    else for (var i = decorators.length - 1; i >= 0; i--) if (d = decorators[i]) r = (c < 3 ? d(r) : c > 3 ? d(target, key, r) : d(target, key)) || r;
    return c > 3 && r && Object.defineProperty(target, key, r), r;
};
var __metadata = (this && this.__metadata) || function (k, v) {
    if (typeof Reflect === "object" && typeof Reflect.metadata === "function") return Reflect.metadata(k, v);
};
var __param = (this && this.__param) || function (paramIndex, decorator) {
    return function (target, key) { decorator(target, key, paramIndex); }
};
import 'reflect-metadata';
import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Redis } from 'ioredis';
import { DELAY_QUEUE_REDIS, DelayedHandler, DelayQueueEvents, DelayQueueModule, } from 'nestjs-delay-queue';
const config = JSON.parse(process.argv[2] ?? '{}');
const { redisUrl, prefix, topic, partitions, handlerTime = 0, ...consumer } = config;
function report(message) {
    process.send?.(message);
}
let Recorder = class Recorder {
    redis;
    #handled = [];
    constructor(redis) {
        this.redis = redis;
    }
    async handle(_payload, message) {
        const { id, partition, attempt, dueAt, signal } = message;
        const [seconds, microseconds] = await this.redis.time();
        if (handlerTime > 0) {
            report({ kind: 'started', id, attempt });
            signal.addEventListener('abort', () => report({ kind: 'aborted', id, code: String(signal.reason.code) }));
            await sleep(handlerTime);
        }
        const redisTime = Number(seconds) * 1000 + Number(microseconds) / 1000;
        if (this.#handled.length === 0)
            setImmediate(() => report({ kind: 'handled', handled: this.#handled.splice(0) }));
        this.#handled.push({ id, partition, attempt, dueAt: dueAt.getTime(), redisTime });
    }
};
__decorate([
    DelayedHandler(topic),
    __metadata("design:type", Function),
    __metadata("design:paramtypes", [Object, Object]),
    __metadata("design:returntype", Promise)
], Recorder.prototype, "handle", null);
Recorder = __decorate([
    Injectable(),
    __param(0, Inject(DELAY_QUEUE_REDIS)),
    __metadata("design:paramtypes", [Redis])
], Recorder);
let ConsumerModule = class ConsumerModule {
    constructor(events) {
        const now = () => performance.timeOrigin + performance.now();
        events.ownership.subscribe(({ partition, owned }) => report({ kind: 'ownership', partition, owned, at: now() }));
        events.stale.subscribe(({ id, attempt }) => report({ kind: 'stale', id, attempt }));
    }
};
ConsumerModule = __decorate([
    Module({
        imports: [DelayQueueModule.forRoot({ redis: redisUrl, prefix, topics: { [topic]: { partitions } }, consumer })],
        providers: [Recorder],
    }),
    __metadata("design:paramtypes", [DelayQueueEvents])
], ConsumerModule);
const app = await NestFactory.createApplicationContext(ConsumerModule, { logger: ['warn', 'error'] });
app.enableShutdownHooks();
report({ kind: 'ready' });
// The parent's channel alone must not keep a drained process alive.
process.channel?.unref();
