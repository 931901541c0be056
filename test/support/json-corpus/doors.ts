import { isDeepStrictEqual } from 'node:util';
import { CORPUS, type CorpusRow, saysWhere } from './corpus.js';

/** What was answered to a text. */
export interface DoorAnswer {
  readonly status: number;
  /** Of an error. */
  readonly code: unknown;
  readonly detail: unknown;
}

/** Where texts of JSON come in, and where they come out again. */
export interface Door {
  /** What errors call the place of the text. */
  readonly place: string;
  /** The code of what is no JSON. */
  readonly noJson: string;
  /** Whether such a value may be there at all. @defaultValue every one */
  readonly takes?: (value: unknown) => boolean;
  /** Called first, with the ids under which texts are put in. */
  readonly prepare?: (ids: readonly string[]) => Promise<unknown>;
  put(row: CorpusRow, id: string): Promise<DoorAnswer>;
  /** All that comes out of what was put in, with its id. */
  out(ids: readonly string[]): Promise<readonly (readonly [id: string, value: unknown])[]>;
}

/** How many texts are on their way at once. */
const AT_ONCE = 20;

/** Puts each text in, and tells of which another value comes out, or that are not refused by their path. */
export async function wrongAt(door: Door): Promise<string[]> {
  const { takes = () => true } = door;
  const rows = CORPUS.filter((row) => !row.kept || takes(valueOf(row))).map((row, i) => [String(i), row] as const);
  const left = new Map(rows.filter(([, { kept }]) => kept));
  const wrong: CorpusRow[] = [];
  await door.prepare?.(rows.map(([id]) => id));
  for (let i = 0; i < rows.length; i += AT_ONCE) {
    const some = rows.slice(i, i + AT_ONCE);
    const answers = await Promise.all(some.map(async ([id, row]) => door.put(row, id)));
    wrong.push(...some.flatMap(([, row], j) => (isRight(door, row, answers[j] as DoorAnswer) ? [] : [row])));
  }
  const kept = new Map(left);
  for (const [id, value] of await door.out([...kept.keys()])) {
    const row = kept.get(id) as CorpusRow;
    if (isDeepStrictEqual(value, valueOf(row))) left.delete(id);
    else wrong.push(row);
  }
  return [...wrong, ...left.values()].map(({ content }) => content.toString().slice(0, 60));
}

function isRight({ place, noJson }: Door, row: CorpusRow, { status, code, detail }: DoorAnswer): boolean {
  if (row.kept) return status < 300;
  return status === 400 && code === (row.json ? 'SERIALIZATION' : noJson) && saysWhere(String(detail), row, place);
}

export function valueOf({ content }: CorpusRow): unknown {
  return JSON.parse(content.toString());
}
