import type { CodeBlock } from './markdown.js';

/**
 * The convention of the README: a TypeScript block that begins with its file name in a comment (`// main.ts`) is a whole
 * program. All others are excerpts: they take for granted what they name, and what is in `excerpt-context.ts`.
 */
export function isWholeProgram({ code }: CodeBlock): boolean {
  return /^\/\/ [\w.-]+\.ts\n/.test(code);
}

const HEAD = `
import { Injectable, Module, ValidationPipe, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { Catch, type ArgumentsHost } from '@nestjs/common';
import { BaseExceptionFilter } from '@nestjs/core';
import { Redis } from 'ioredis';
import { DelayedHandler, DelayQueueModule, DelayQueueProducer, InjectDelayQueueProducer } from 'nestjs-delay-queue';
import { DelayQueueContext, Message, Payload, RetryLaterError, topic, UnrecoverableError } from 'nestjs-delay-queue';
import type { DelayedMessage, DelayQueueModuleOptions, DelayQueueOptionsFactory } from 'nestjs-delay-queue';
import { admin, app, AppConfig, ConfigModule, events, InvoiceDto, producer } from './support/excerpt-context.js';
`.trim();

/** Imports and results that an excerpt does not use are none of its faults. */
const UNUSED = /: TS(6133|6192|6196|6198) /;

/** An excerpt with what it needs around it, so that it can be compiled. */
export function toModule({ code }: CodeBlock): string {
  const isMember = code.startsWith('@DelayedHandler(');
  return `${HEAD}\n${isMember ? `export class Excerpt {\n${code}\n}` : `${code}\nexport {};`}\n`;
}

export function isFault(problem: string): boolean {
  return !UNUSED.test(problem);
}
