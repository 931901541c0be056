import type { TopicRef } from '../index.js';
import type { IncomingMessage } from 'node:http';
import { describe } from '../checks/describe.js';
import { InvalidArgumentError } from '../errors/options.errors.js';
import { checkedTopicName } from '../messages/topic.js';

/** All rights for a topic. */
export const RIGHTS: readonly GatewayRight[] = ['publish', 'receive', 'read', 'operate'];

/**
 * A right for a topic over HTTP: publish, cancel and reschedule its messages (`'publish'`); receive and settle them (`'receive'`); look
 * (`'read'`); change its schedules (`'operate'`).
 *
 * @publicApi
 */
export type GatewayRight = 'publish' | 'receive' | 'read' | 'operate';

/**
 * Decides whether the sender of a request has a right for a topic. An error that it throws ends the request, as in a guard.
 *
 * @publicApi
 */
export type GatewayAccess<R = IncomingMessage> = (
  request: R,
  asked: { readonly topic: string; readonly right: GatewayRight },
) => boolean | Promise<boolean>;

/** The topics that are served, by their names. */
export type ServedTopics = ReadonlyMap<string, TopicRef>;

/** @throws InvalidArgumentError if it is not a list of topics, is empty, or has a topic twice */
export function servedTopics(topics: unknown): ServedTopics {
  if (!Array.isArray(topics) || topics.length === 0) {
    throw new InvalidArgumentError(
      `topics must be an array of the topics that are served, each by its name or as topic() makes it, one at least. ` +
        `Given: ${describe(topics)}.`,
    );
  }
  const served = new Map<string, TopicRef>();
  for (const topic of topics as TopicRef[]) {
    const name = checkedTopicName(topic);
    if (served.has(name)) throw new InvalidArgumentError(`topics has '${name}' twice.`);
    served.set(name, topic);
  }
  return served;
}
