import type { Process } from '../fleet/process.js';
import type { Scene } from '../fleet/scene.js';
import { isUnavailable } from './errors.js';
import type { Payload } from './payload.js';

type Producer = NonNullable<Process['connection']>['producer'];
type Options = NonNullable<Parameters<Producer['publish']>[2]>;
type Result = Awaited<ReturnType<Producer['publish']>>;

/**
 * Publishes a message, and has the rules know what came of it.
 *
 * @returns nothing if Redis could not be reached: whether it is stored is not known then
 */
export async function publish(
  { rules }: Scene,
  producer: Producer,
  { topic, payload, ...options }: { readonly topic: string; readonly payload: Payload } & Options,
): Promise<Result | undefined> {
  const { id } = payload;
  rules.publishing(topic, payload);
  try {
    const result = await producer.publish(topic, payload, { id, ...options });
    rules.published(id, result.dueAt.getTime());
    return result;
  } catch (error) {
    if (!isUnavailable(error)) rules.refused(id, error);
    return undefined;
  } finally {
    rules.publishEnded(id);
  }
}
