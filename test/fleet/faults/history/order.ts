import { groupBy } from './group-by.js';

/** What became of a message of an ordered topic. Times are epoch milliseconds. */
export interface Turn {
  readonly id: string;
  readonly key: string;
  readonly dueAt: number;
  readonly confirmedAt: number;
  /** When each of its runs began, in order. */
  readonly begins: readonly number[];
  /** When the first run ended that may have been its last; infinite if none was. */
  readonly doneAt: number;
}

/**
 * Finds where the messages of a key were not handled one at a time, in order of their due times.
 *
 * @param grain how long before it began a run may have been decided about, in milliseconds
 */
export function outOfTurn(turns: readonly Turn[], grain: number): string[] {
  return [...groupBy(turns, ({ key }) => key).values()].flatMap((ofKey) => [
    ...notAlone(ofKey),
    ...notInOrder(ofKey, grain),
  ]);
}

/** What has begun keeps all others of its key waiting until it is done. */
function notAlone(turns: readonly Turn[]): string[] {
  const begins = turns.flatMap((turn) => turn.begins.map((at) => ({ turn, at }))).toSorted((a, b) => a.at - b.at);
  let undone: Turn[] = [];
  return begins.flatMap(({ turn, at }) => {
    undone = undone.filter(({ doneAt }) => doneAt > at);
    const other = undone.find((begun) => begun !== turn);
    if (!undone.includes(turn)) undone.push(turn);
    return other ? [`${turn.id} began at ${at}, before ${other.id} of its key was done, at ${other.doneAt}`] : [];
  });
}

/** What has not begun is overtaken only by what is due earlier, or was published so late that it was not seen yet. */
function notInOrder(turns: readonly Turn[], grain: number): string[] {
  const arriving = turns.toSorted((a, b) => a.confirmedAt - b.confirmedAt);
  /** Those that wait, by due time, the earliest one last. */
  const waiting: Turn[] = [];
  const firsts = turns
    .flatMap((turn) => (turn.begins[0] === undefined ? [] : [{ turn, at: turn.begins[0] }]))
    .toSorted((a, b) => a.at - b.at);
  let arrived = 0;
  const begun = new Set<Turn>();
  return firsts.flatMap(({ turn, at }) => {
    for (; arrived < arriving.length && (arriving[arrived] as Turn).confirmedAt + grain < at; arrived++) {
      insert(waiting, arriving[arrived] as Turn);
    }
    begun.add(turn);
    while (waiting.length > 0 && begun.has(waiting.at(-1) as Turn)) waiting.pop();
    const first = waiting.at(-1);
    if (!first || first.dueAt >= turn.dueAt) return [];
    return [`${turn.id}, due at ${turn.dueAt}, began at ${at}, before ${first.id} of its key, due at ${first.dueAt}`];
  });
}

function insert(waiting: Turn[], turn: Turn): void {
  let low = 0;
  let high = waiting.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((waiting[middle] as Turn).dueAt > turn.dueAt) low = middle + 1;
    else high = middle;
  }
  waiting.splice(low, 0, turn);
}
