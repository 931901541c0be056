import { createRequire } from 'node:module';
import type * as OpenTelemetryApi from '@opentelemetry/api';
import type { TextMapPropagator, TracerProvider } from '@opentelemetry/api';
import { describe } from '../common/describe.js';
import { requirePeer } from '../common/require-peer.js';
import { assertOptions } from '../common/validate.js';
import { InvalidArgumentError } from '../errors/invalid-argument.error.js';
import type { DelayQueueMiddleware } from '../message/middleware.interface.js';
import { asConfiguration } from '../options/option-checks.js';
import { ProcessSpans } from './process-spans.js';
import { SendSpans } from './send-spans.js';
import { SettleSpans } from './settle-spans.js';
import { Tracing, type TracingOptions } from './tracing.js';

/**
 * Options of {@link openTelemetry}.
 *
 * @publicApi
 */
export interface OpenTelemetryOptions {
  /** Whose tracer makes the spans. @defaultValue the one that is registered with the API, now or later */
  tracerProvider?: TracerProvider;
  /**
   * Writes the context into headers, and reads it from them. @defaultValue the one that is registered with the API: W3C
   * trace context and baggage, unless the application says otherwise
   */
  propagator?: TextMapPropagator;
  /**
   * Whether the span of a handler call with one message is a child of the span that published it. Where `false`, each call
   * begins a trace of its own. It is linked to the publisher's span in either case. @defaultValue true
   */
  continueTrace?: boolean;
  /**
   * Whether each message of a `publishMany()` gets a span `create`, so that it can be told apart from the others of its call.
   * @defaultValue true
   */
  createSpans?: boolean;
}

const OPTIONS: readonly (keyof OpenTelemetryOptions)[] = [
  'tracerProvider',
  'propagator',
  'continueTrace',
  'createSpans',
];

const { name, version } = createRequire(import.meta.url)('../../package.json') as { name: string; version: string };

/**
 * Middleware that traces publishes, handler calls and settles with OpenTelemetry, and takes the context along in the headers
 * of messages. Put it first, so that other middleware runs within its spans.
 *
 * @throws ConfigurationError where an option is wrong, or the package `@opentelemetry/api` is not installed
 *
 * @example
 * ```ts
 * DelayQueueModule.forRoot({ middleware: [openTelemetry()] });
 * ```
 *
 * @publicApi
 */
export function openTelemetry(options: OpenTelemetryOptions = {}): DelayQueueMiddleware {
  const tracing = new Tracing(asConfiguration('openTelemetry()', () => resolve(options)));
  const sending = new SendSpans(tracing);
  const processing = new ProcessSpans(tracing);
  const settling = new SettleSpans(tracing, processing);
  return {
    publish: (messages, next) => sending.publish(messages, next),
    handle: (messages, next) => processing.handle(messages, next),
    settle: (outcomes, next) => settling.settle(outcomes, next),
  };
}

/** @throws InvalidArgumentError, ConfigurationError */
function resolve(options: OpenTelemetryOptions): TracingOptions {
  assertOptions('The options', options, OPTIONS);
  const { tracerProvider, propagator, continueTrace = true, createSpans = true } = options;
  assertMethods('tracerProvider', tracerProvider, ['getTracer']);
  assertMethods('propagator', propagator, ['inject', 'extract']);
  assertBoolean('continueTrace', continueTrace);
  assertBoolean('createSpans', createSpans);
  const api = requirePeer('@opentelemetry/api', 'Traces with OpenTelemetry') as typeof OpenTelemetryApi;
  return {
    api,
    tracer: (tracerProvider ?? api.trace).getTracer(name, version),
    propagator: propagator ?? api.propagation,
    continueTrace,
    createSpans,
  };
}

function assertMethods(option: string, value: unknown, methods: readonly string[]): void {
  if (value === undefined) return;
  const given = value as Readonly<Record<string, unknown>> | null;
  if (methods.every((method) => typeof given?.[method] === 'function')) return;
  throw new InvalidArgumentError(`${option} must have ${methods.join('() and ')}(). Given: ${describe(value)}.`);
}

function assertBoolean(option: string, value: unknown): void {
  if (typeof value === 'boolean') return;
  throw new InvalidArgumentError(`${option} must be true or false. Given: ${describe(value)}.`);
}
