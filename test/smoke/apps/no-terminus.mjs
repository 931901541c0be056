import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DelayQueueModule } from 'nestjs-delay-queue';
import { DelayQueueHealthIndicator } from 'nestjs-delay-queue/terminus';

const imports = [DelayQueueModule.forRoot({ redis: process.env['REDIS_URL'], prefix: process.env['PREFIX'] })];

/** Boots an application with these providers. */
async function boot(providers) {
  class App {
    name = 'orders';
  }
  Module({ imports, providers })(App);
  return NestFactory.createApplicationContext(App, { logger: false, abortOnError: false });
}

const app = await boot([]);
await app.close();
console.log('booted');
await boot([DelayQueueHealthIndicator]).catch(({ code, message }) => console.log(`${code}: ${message}`));
