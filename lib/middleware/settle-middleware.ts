import type { Outcome, SettleStatus } from '../broker/broker.interface.js';
import { ConfigurationError } from '../errors/options.errors.js';
import type { DelayQueueMiddleware, DeliveryOutcome } from './middleware.interface.js';
import type { Delivery } from '../consumer/delivery.js';

/** A function around each settle. */
export interface SettleLayer {
  /** For messages, such as `middleware[0].settle`. */
  readonly name: string;
  readonly call: NonNullable<DelayQueueMiddleware['settle']>;
}

/** The part of the middleware that concerns settling; `undefined` where there is none. */
export function settleLayers(middleware: readonly DelayQueueMiddleware[]): readonly SettleLayer[] | undefined {
  const layers = middleware.flatMap((one, i) =>
    one.settle ? [{ name: `middleware[${i}].settle`, call: one.settle.bind(one) }] : [],
  );
  return layers.length > 0 ? layers : undefined;
}

interface DecidedDelivery {
  readonly delivery: Delivery;
  readonly outcome: Outcome;
}

/**
 * Settles within the middleware, which looks on: what was handled must not be handled again since an onlooker fails. So
 * the settle is made, once, whatever the middleware does.
 *
 * @param onFault told what the middleware did wrong
 * @throws what `settle` rejects with
 */
export async function settleWithin(
  layers: readonly SettleLayer[],
  decided: readonly DecidedDelivery[],
  settle: () => Promise<readonly SettleStatus[]>,
  onFault: (error: unknown) => void,
): Promise<readonly SettleStatus[]> {
  const outcomes = decided.map(toDeliveryOutcome);
  const enter = async (depth: number): Promise<readonly SettleStatus[]> => {
    const layer = layers[depth];
    if (!layer) return settle();
    let inner: Promise<readonly SettleStatus[]> | undefined;
    const goOn = (): Promise<readonly SettleStatus[]> => (inner ??= enter(depth + 1));
    const fault = await faultOf(layer, outcomes, goOn, () => inner !== undefined);
    const statuses = await goOn();
    // Not before: a layer that passes on what `settle` rejects with has done nothing wrong.
    if (fault) onFault(fault.error);
    return statuses;
  };
  return enter(0);
}

async function faultOf(
  { name, call }: SettleLayer,
  outcomes: readonly DeliveryOutcome[],
  next: () => Promise<readonly SettleStatus[]>,
  wentOn: () => boolean,
): Promise<{ readonly error: unknown } | undefined> {
  try {
    await call(outcomes, next);
  } catch (error) {
    return { error };
  }
  if (wentOn()) return undefined;
  return { error: new ConfigurationError(`${name} did not call next(). Call it once.`) };
}

function toDeliveryOutcome({ delivery, outcome }: DecidedDelivery): DeliveryOutcome {
  return {
    topic: delivery.partition.topic,
    partition: delivery.partition.index,
    id: delivery.id,
    key: delivery.key,
    attempt: delivery.attempt,
    message: delivery.message,
    outcome: outcome.kind,
    delay: 'delay' in outcome ? outcome.delay : undefined,
    failure: 'failure' in outcome ? outcome.failure : undefined,
  };
}
