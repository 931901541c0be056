import type { Command } from './keyspace.js';
import type { StreamEntry } from './stream.js';

/** The two numbers of an id. */
function numbersOf(id: string): readonly [number, number] {
  const [first, second = Infinity] = id.split('-').map(Number);
  return [first as number, second];
}

function idOf({ first, second }: StreamEntry): string {
  return `${first}-${second}`;
}

export const STREAM_COMMANDS = {
  /** With `MAXLEN ~ n LIMIT n`, or `MINID ~ id LIMIT n`. */
  XADD(keys, key, ...args) {
    const idAt = args[0] === 'MAXLEN' || args[0] === 'MINID' ? 5 : 0;
    const [kind, , bound = ''] = args;
    const [id = '*', ...fields] = args.slice(idAt);
    const stream = keys.ownStream(key);
    const last = stream.entries.at(-1);
    const now = Math.floor(keys.now());
    const next = last && last.first >= now ? ([last.first, last.second + 1] as const) : ([now, 0] as const);
    const [first, second] = id === '*' ? next : numbersOf(id);
    stream.append({ first, second, fields });
    if (idAt > 0) {
      const [oldest] = numbersOf(bound);
      const kept = stream.entries.findIndex((entry) => entry.first >= oldest);
      stream.trim(kind === 'MAXLEN' ? stream.size - Number(bound) : kept);
    }
    return `${first}-${second}`;
  },
  /** Back from `end`, to the beginning. */
  XREVRANGE(keys, key, ...args) {
    const [end = '+', , , count] = args;
    const isOpen = end.startsWith('(');
    const [first, second] = end === '+' ? [Infinity, Infinity] : numbersOf(isOpen ? end.slice(1) : end);
    const entries = (keys.stream(key)?.entries ?? []).filter(
      (entry) =>
        entry.first < first || (entry.first === first && (isOpen ? entry.second < second : entry.second <= second)),
    );
    const latest = entries.toReversed().slice(0, count === undefined ? undefined : Number(count));
    return latest.map((entry) => [idOf(entry), [...entry.fields]]);
  },
} satisfies Readonly<Record<string, Command>>;
