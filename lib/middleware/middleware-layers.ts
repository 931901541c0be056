import { describe } from '../checks/describe.js';
import { isPlainObject } from '../checks/kinds.js';
import { assertOptions } from '../checks/validate.js';
import { ConfigurationError, InvalidArgumentError } from '../errors/options.errors.js';
import type { DelayedMessage } from '../messages/delayed-message.interface.js';
import type { PublishedMessage, PublishOptions } from '../messages/publish-options.interface.js';
import type { SettleStatus } from '../messages/settle-status.js';
import { type InnerCalls, type Outlived, withInnerCalls } from '../time/inner-calls.js';
import type { DelayQueueMiddleware, DeliveryOutcome, OutgoingMessage } from './middleware.interface.js';

/** A function around an operation, or around the next such function. Its return value is the result, unless it only observes. */
export interface Layer<I, R, Returned = R> {
  /** Name for messages, such as `middleware[0].publish`. */
  readonly name: string;
  readonly call: (input: I, next: () => Promise<R>) => Promise<Returned>;
}

/**
 * Runs an operation within layers; the first is the outermost. It does not run if one of them does not call `next()`.
 *
 * @throws ConfigurationError out of `next()`, if a layer calls it again; else the errors of the layers and the operation
 */
export async function runWithin<I, R>(
  layers: readonly Layer<I, R>[],
  input: I,
  operation: () => Promise<R>,
): Promise<R> {
  const enter = async (depth: number): Promise<R> => {
    const layer = layers[depth];
    if (!layer) return operation();
    let wentOn = false;
    return layer.call(input, async () => {
      if (wentOn) {
        throw new ConfigurationError(
          `${layer.name} called next() a second time, which would publish or handle the same messages again. Call it once.`,
        );
      }
      wentOn = true;
      return enter(depth + 1);
    });
  };
  return enter(0);
}

/**
 * Returns a layer that only observes: the inner part runs once and its result counts, whatever the layer does.
 *
 * @param onFault called with the layer's fault
 */
function lookingOn<I, R>({ name, call }: Layer<I, R, unknown>, onFault: (error: unknown) => void): Layer<I, R> {
  return {
    name,
    call: async (input, next) => {
      let inner: Promise<R> | undefined;
      let fault: { readonly error: unknown } | undefined;
      try {
        await call(input, () => (inner ??= next()));
        if (!inner) throw new ConfigurationError(`${name} did not call next(). Call it once.`);
      } catch (error) {
        fault = { error };
      }
      const result = await (inner ?? next());
      // Not before: a layer that passes on an error from inside has done nothing wrong.
      if (fault) onFault(fault.error);
      return result;
    },
  };
}

export type PublishLayer = Layer<readonly OutgoingMessage[], PublishedMessage[]>;
type HandleLayer = Layer<readonly DelayedMessage[], unknown>;
export type SettleLayer = Layer<readonly DeliveryOutcome[], readonly SettleStatus[], unknown>;

/** A handler of messages, see `MessageHandler`. */
export interface Handles {
  handle(messages: readonly DelayedMessage[], outlived?: Outlived): unknown;
}

/** Functions of a connection's middleware, by the operation that they wrap; `undefined` if there are none. */
export interface MiddlewareLayers {
  readonly publish: readonly PublishLayer[] | undefined;
  readonly handle: readonly HandleLayer[] | undefined;
  readonly settle: readonly SettleLayer[] | undefined;
}

/** A message as given to `publish()`. */
export interface GivenMessage {
  readonly payload: unknown;
  readonly options?: PublishOptions | undefined;
}

const HOOKS = ['publish', 'handle', 'settle'] as const satisfies readonly (keyof DelayQueueMiddleware)[];

/** @throws InvalidArgumentError if it is not an array of middleware */
export function resolveMiddleware(middleware: readonly DelayQueueMiddleware[]): MiddlewareLayers {
  if (!Array.isArray(middleware)) {
    throw new InvalidArgumentError(
      `middleware must be an array of { publish, handle, settle }. Given: ${describe(middleware)}.`,
    );
  }
  middleware.forEach((one, i) => assertMiddleware(`middleware[${i}]`, one));
  return {
    publish: layersOf(middleware, 'publish'),
    handle: layersOf(middleware, 'handle'),
    settle: layersOf(middleware, 'settle'),
  };
}

/**
 * Passes the messages of one call through the middleware.
 *
 * @param given messages with checked options
 * @param publish called with the messages and the headers as the middleware has left them
 * @throws ConfigurationError if the middleware does not return a result for each message
 */
export async function publishWithin(
  layers: readonly PublishLayer[],
  topic: string,
  given: readonly GivenMessage[],
  publish: (messages: readonly GivenMessage[]) => Promise<PublishedMessage[]>,
): Promise<PublishedMessage[]> {
  const outgoing = given.map(({ payload, options = {} }): OutgoingMessage =>
    // Frozen, since an assignment to it, rather than to its headers, would have no effect.
    Object.freeze({ topic, payload, options, headers: { ...options.headers } }),
  );
  const results: unknown = await runWithin(layers, outgoing, async () =>
    publish(outgoing.map(({ payload, options, headers }) => ({ payload, options: { ...options, headers } }))),
  );
  if (Array.isArray(results) && results.length === outgoing.length) return results as PublishedMessage[];
  throw new ConfigurationError(
    `The publish middleware has to return one result a message, such as next() resolves with. ` +
      `Messages: ${outgoing.length}, returned: ${describe(results)}. See ${layers.map(({ name }) => name).join(', ')}.`,
  );
}

/** Returns a handler whose calls go through the middleware; the handler itself if no middleware wraps handler calls. */
export function handleWithin<H extends Handles>(layers: readonly HandleLayer[] | undefined, handler: H): H {
  if (!layers) return handler;
  return {
    ...handler,
    handle: (messages, outlived) => {
      const around = async (calls: InnerCalls): Promise<unknown> =>
        runWithin(layers, messages, async () => calls.follow((async () => handler.handle(messages, outlived))()));
      return withInnerCalls(around, outlived);
    },
  };
}

/**
 * Settles within the middleware, which only observes: a handled message must not be handled again because an observer fails.
 *
 * @param onFault called with the middleware's fault
 * @throws the error of `settle`
 */
export async function settleWithin(
  layers: readonly SettleLayer[],
  outcomes: readonly DeliveryOutcome[],
  settle: () => Promise<readonly SettleStatus[]>,
  onFault: (error: unknown) => void,
): Promise<readonly SettleStatus[]> {
  return runWithin(
    layers.map((layer) => lookingOn(layer, onFault)),
    outcomes,
    settle,
  );
}

function layersOf<H extends (typeof HOOKS)[number]>(middleware: readonly DelayQueueMiddleware[], hook: H) {
  const layers = middleware.flatMap((one, i) => {
    const call = one[hook];
    return call ? [{ name: `middleware[${i}].${hook}`, call: call.bind(one) as typeof call }] : [];
  });
  return layers.length > 0 ? Object.freeze(layers) : undefined;
}

/** Checks one middleware. An instance of a class can have any other members; in a plain object they would be a misspelling. */
function assertMiddleware(name: string, one: DelayQueueMiddleware): void {
  assertOptions(name, one, isPlainObject(one) ? HOOKS : Object.keys(one ?? {}));
  for (const hook of HOOKS) {
    const given: unknown = one[hook];
    if (given === undefined || typeof given === 'function') continue;
    throw new InvalidArgumentError(`${name}.${hook} must be a function. Given: ${describe(given)}.`);
  }
  if (HOOKS.some((hook) => one[hook] !== undefined)) return;
  throw new InvalidArgumentError(
    `${name} has none of ${HOOKS.map((hook) => `'${hook}'`).join(', ')}. Given: ${describe(one)}.`,
  );
}
