import { InvalidArgumentError } from '../errors/options.errors.js';
import { type ForwardTarget, resolveForward } from './forward/resolve-forward.js';
import type { ForwardOptions } from './forward/forward-options.interface.js';
import type { PushOptions } from './push/push-options.interface.js';
import type { PushTarget } from './push/push-target.js';
import { resolvePush } from './push/resolve-push.js';

/** Where the messages of a topic go that no method of the application handles. */
export type OutboundTarget =
  { readonly kind: 'push'; readonly push: PushTarget } | { readonly kind: 'forward'; readonly forward: ForwardTarget };

/** The options of a topic that are looked at here. */
interface OutboundTopicOptions {
  readonly push?: PushOptions | undefined;
  readonly forward?: ForwardOptions | undefined;
}

/**
 * @param topics options by topic
 * @param defaults those of every topic
 * @returns the topics whose messages go elsewhere
 * @throws InvalidArgumentError
 */
export function resolveOutbound(
  topics: Readonly<Record<string, OutboundTopicOptions>>,
  { push, forward }: OutboundTopicOptions,
): Map<string, OutboundTarget> {
  if (push !== undefined || forward !== undefined) throw new InvalidArgumentError(notForAll(push ? 'push' : 'forward'));
  return new Map(
    Object.entries(topics).flatMap(([topic, options]) => {
      const target = resolveTarget(`topics['${topic}']`, options);
      return target ? [[topic, target] as const] : [];
    }),
  );
}

/** A topic that has no options of its own is not known when the process boots. */
function notForAll(option: string): string {
  return `defaults cannot have '${option}': give it to each topic whose messages go there, as in topics: { 'order.paid': { ${option} } }.`;
}

function resolveTarget(name: string, { push, forward }: OutboundTopicOptions): OutboundTarget | undefined {
  if (push !== undefined && forward !== undefined) {
    throw new InvalidArgumentError(
      `${name} cannot have both 'push' and 'forward': a message goes to one place. Leave one out, or publish to two topics.`,
    );
  }
  if (push !== undefined) return { kind: 'push', push: resolvePush(`${name}.push`, push) };
  if (forward !== undefined) return { kind: 'forward', forward: resolveForward(`${name}.forward`, forward) };
  return undefined;
}
