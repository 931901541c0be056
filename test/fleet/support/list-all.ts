import type { DelayQueueAdmin, PeekState } from 'nestjs-delay-queue';

const PAGE = 200;

/**
 * Lists a state of a topic page by page, to its end.
 *
 * @param between called after each page, with its number
 * @returns the ids in the order in which they came, one that came twice twice
 */
export async function listAll(
  admin: DelayQueueAdmin,
  topic: string,
  state: PeekState,
  between?: (page: number) => Promise<unknown>,
): Promise<string[]> {
  const ids: string[] = [];
  let cursor: string | undefined;
  let page = 0;
  do {
    const listed = await admin.peek(topic, state, { limit: PAGE, cursor });
    for (const { id } of listed.messages) ids.push(id);
    cursor = listed.cursor;
    await between?.(++page);
  } while (cursor !== undefined);
  return ids;
}

/** How often each of these ids was listed, where that is not once. */
export function notListedOnce(listed: readonly string[], ids: readonly string[]): Record<string, number> {
  const times = new Map(ids.map((id) => [id, 0]));
  for (const id of listed) {
    const before = times.get(id);
    if (before !== undefined) times.set(id, before + 1);
  }
  return Object.fromEntries([...times].filter(([, listings]) => listings !== 1));
}
