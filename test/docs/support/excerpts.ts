import type { CodeBlock } from './markdown.js';

/**
 * The convention of the README: a TypeScript block that begins with its file name in a comment (`// main.ts`) is a whole
 * program. All others are excerpts: they take for granted what they name, and what is in `excerpt-context.ts`.
 */
export function isWholeProgram({ code }: CodeBlock): boolean {
  return /^\/\/ [\w.-]+\.ts\n/.test(code);
}

const HEAD = `
import { Injectable, Module } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { Redis } from 'ioredis';
import { DelayedHandler, DelayQueueModule, DelayQueueProducer, InjectDelayQueueProducer } from 'nestjs-delay-queue';
import { RetryLaterError, topic, UnrecoverableError } from 'nestjs-delay-queue';
import type { DelayedMessage, DelayQueueModuleOptions, DelayQueueOptionsFactory } from 'nestjs-delay-queue';
import { DelayQueueHarness, DelayQueueTestingModule } from 'nestjs-delay-queue/testing';
import { expect, vi } from 'vitest';
import { admin, app, AppConfig, AppModule, ConfigModule, events, harness, producer } from './support/excerpt-context.js';
`.trim();

/** Imports and results that an excerpt does not use are none of its faults. */
const UNUSED = /: TS(6133|6192|6196|6198) /;

/** An excerpt with what it needs around it, so that it can be compiled. */
export function toModule({ code }: CodeBlock): string {
  const isMember = code.startsWith('@DelayedHandler(');
  // In a block, an excerpt may declare what others take for granted.
  return `${HEAD}\n${isMember ? `export class Excerpt {\n${code}\n}` : `{\n${code}\n}\nexport {};`}\n`;
}

export function isFault(problem: string): boolean {
  return !UNUSED.test(problem);
}
