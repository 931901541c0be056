import { type TextMapPropagator, type TracerProvider, propagation, trace } from '@opentelemetry/api';
import { describe } from '../checks/describe.js';
import { asConfiguration, assertBoolean, assertOptions } from '../checks/validate.js';
import { InvalidArgumentError } from '../errors/options.errors.js';
import type { DelayQueueMiddleware } from '../index.js';
import { ProcessSpans } from './process-spans.js';
import { SendSpans } from './send-spans.js';
import { SettleSpans } from './settle-spans.js';
import { Tracing, type TracingOptions } from './tracing.js';
import { VERSION } from '../version.js';

/**
 * Options of {@link openTelemetry}.
 *
 * @publicApi
 */
export interface OpenTelemetryOptions {
  /** Provider of the tracer that creates the spans. @defaultValue the one registered with the API */
  tracerProvider?: TracerProvider;
  /**
   * Writes the context into headers, and reads it from them. The API's own default is W3C trace context and baggage. @defaultValue the one
   * registered with the API
   */
  propagator?: TextMapPropagator;
  /**
   * Whether the span of a handler call with one message is a child of the span that published it. If `false`, each call begins its own
   * trace. It is linked to the publisher's span in either case. @defaultValue true
   */
  continueTrace?: boolean;
  /**
   * Whether each message of a `publishMany()` gets a `create` span, which distinguishes it from the others of its call.
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

/** Name of the library for the tracer. */
const NAME = 'nestjs-delay-queue';

/**
 * Middleware that traces publishes, handler calls and settles with OpenTelemetry, and carries the context in the headers of
 * messages. Put it first, so that other middleware runs within its spans.
 *
 * @throws ConfigurationError if an option is wrong
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
  return {
    tracer: (tracerProvider ?? trace).getTracer(NAME, VERSION),
    propagator: propagator ?? propagation,
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
