/**
 * All that the database knows about a message of a topic with an inbox, by topic, key and id. Each change of it locks it first, so the first
 * transaction that commits decides.
 *
 * A publish is named by the time of the publish, which messages carry. Publishes within transactions that meet in one entry get different
 * times, in the order in which they locked it; those at once to Redis have the time that they were made at.
 */
export interface InboxEntry {
  /** The latest publish within a transaction; 0 if there was none. */
  readonly published: number;
  /** The publish whose message was handled last; `undefined` if none was. */
  readonly handled: number | undefined;
  /** The latest publish that is cancelled, or moved to {@link dueAt}, as are all before it; `undefined` if none is. */
  readonly changed: number | undefined;
  /** Time to which it was moved; `undefined` if it was cancelled. */
  readonly dueAt: number | undefined;
}

export const NEW_ENTRY: InboxEntry = Object.freeze({
  published: 0,
  handled: undefined,
  changed: undefined,
  dueAt: undefined,
});

/** The entry after a change, with the result of that. */
interface Changed<R> {
  readonly result: R;
  /** @defaultValue it stays as it is */
  readonly entry?: InboxEntry;
}

/**
 * Notes a publish.
 *
 * @param now epoch milliseconds
 * @returns the time of the publish that its message has to carry
 */
export function publish(entry: InboxEntry, now: number): Changed<number> & { readonly entry: InboxEntry } {
  const { published, handled = 0, changed = 0 } = entry;
  const result = Math.max(now, published + 1, handled + 1, changed + 1);
  return { result, entry: { ...entry, published: result } };
}

/** Notes that a message is cancelled, unless it was handled. */
export function cancel(entry: InboxEntry, now: number): Changed<'cancelled' | 'done'> {
  if (isDone(entry)) return { result: 'done' };
  return { result: 'cancelled', entry: { ...entry, changed: changedNow(entry, now), dueAt: undefined } };
}

/** Notes that a message is moved, unless it was handled or cancelled. */
export function move(entry: InboxEntry, now: number, dueAt: number): Changed<'moved' | 'done' | 'not-found'> {
  const { published, changed } = entry;
  if (isDone(entry)) return { result: 'done' };
  if (changed !== undefined && entry.dueAt === undefined && published <= changed) return { result: 'not-found' };
  return { result: 'moved', entry: { ...entry, changed: changedNow(entry, now), dueAt } };
}

/** A message as it was delivered. Epoch milliseconds. */
export interface InboxDelivery {
  readonly publishedAt: number;
  readonly dueAt: number;
}

/**
 * Decides about a delivery.
 *
 * @returns `'over'`: it was handled or cancelled; a number: it was moved to that time
 */
export function deliver(entry: InboxEntry, { publishedAt, dueAt }: InboxDelivery): 'over' | 'to-handle' | number {
  const { published, handled, changed } = entry;
  // All before one that was published within a transaction and is handled are over.
  if (publishedAt === handled) return 'over';
  if (handled !== undefined && handled <= published && publishedAt < handled) return 'over';
  if (changed === undefined || publishedAt > changed) return 'to-handle';
  if (entry.dueAt === undefined) return 'over';
  return dueAt < entry.dueAt ? entry.dueAt : 'to-handle';
}

/** Whether the publish that is known last was handled. */
function isDone({ published, handled }: InboxEntry): boolean {
  return handled !== undefined && handled >= published;
}

/** Publishes at once to Redis until now are changed, too. */
function changedNow({ published, changed = 0 }: InboxEntry, now: number): number {
  return Math.max(published, changed, now);
}
