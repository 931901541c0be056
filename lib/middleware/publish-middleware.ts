import { describe } from '../checks/describe.js';
import { type Layer, runWithin } from './layers.js';
import { ConfigurationError } from '../errors/options.errors.js';
import type { DelayQueueMiddleware, OutgoingMessage } from './middleware.interface.js';
import type { PublishedMessage, PublishOptions } from '../messages/publish-options.interface.js';
import { assertPublishOptions } from '../producer/publish-request.js';

/** A message as `publish()` is given it. */
export interface GivenMessage {
  readonly payload: unknown;
  readonly options?: PublishOptions | undefined;
}

export type PublishLayer = Layer<readonly OutgoingMessage[], PublishedMessage[]>;

/** The part of the middleware that concerns publishing. */
export function publishLayers(middleware: readonly DelayQueueMiddleware[]): PublishLayer[] {
  return middleware.flatMap((one, i) =>
    one.publish ? [{ name: `middleware[${i}].publish`, call: one.publish.bind(one) }] : [],
  );
}

/**
 * The messages of one call, as middleware meets them.
 *
 * @throws InvalidArgumentError where options or headers are of a kind that no middleware should meet
 */
export function toOutgoing(topic: string, given: readonly GivenMessage[]): OutgoingMessage[] {
  return given.map(({ payload, options = {} }) => {
    assertPublishOptions(options);
    // Frozen, since whatever is assigned to it, instead of to its headers, would have no effect.
    return Object.freeze({ topic, payload, options, headers: { ...options.headers } });
  });
}

/**
 * Takes the messages of one call through the middleware.
 *
 * @param publish is given the messages with the headers that the middleware has left them
 * @throws ConfigurationError where the middleware does not return a result for each message
 */
export async function publishWithin(
  layers: readonly PublishLayer[],
  outgoing: readonly OutgoingMessage[],
  publish: (messages: readonly GivenMessage[]) => Promise<PublishedMessage[]>,
): Promise<PublishedMessage[]> {
  const results: unknown = await runWithin(layers, outgoing, async () => publish(outgoing.map(withItsHeaders)));
  if (Array.isArray(results) && results.length === outgoing.length) return results as PublishedMessage[];
  throw new ConfigurationError(
    `The publish middleware has to return one result a message, such as next() resolves with. ` +
      `Messages: ${outgoing.length}, returned: ${describe(results)}. See ${layers.map(({ name }) => name).join(', ')}.`,
  );
}

function withItsHeaders({ payload, options, headers }: OutgoingMessage): GivenMessage {
  return { payload, options: { ...options, headers } };
}
