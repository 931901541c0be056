import { readFileSync } from 'node:fs';

/** A text in the place of a payload, and what has to become of it at every door. `texts.json` has them for tests in other languages, too. */
export interface CorpusRow {
  readonly about: string;
  readonly content: Buffer;
  /** Whether it comes back equal; otherwise it is refused. */
  readonly kept: boolean;
  /** Whether it is JSON at all. */
  readonly json: boolean;
  /** Where in the payload the fault is, such as `.lines[0]`. */
  readonly at: string | undefined;
}

interface StoredRow extends Omit<CorpusRow, 'content' | 'json' | 'at'> {
  readonly text?: string;
  /** What is no UTF-8. */
  readonly base64?: string;
  /** What stands so many times before the text, and `close` behind it. */
  readonly open?: string;
  readonly times?: number;
  readonly close?: string;
  readonly json?: boolean;
  readonly at?: string;
}

const { rows } = JSON.parse(readFileSync(new URL('texts.json', import.meta.url), 'utf8')) as {
  rows: readonly StoredRow[];
};

export const CORPUS: readonly CorpusRow[] = rows.map(
  ({ text = '', base64, open = '', times = 0, close = '', json = true, at, ...row }) => {
    const whole = `${open.repeat(times)}${text}${close.repeat(times)}`;
    return { ...row, content: base64 === undefined ? Buffer.from(whole) : Buffer.from(base64, 'base64'), json, at };
  },
);

/** A body with such a text in it. */
export function around({ content }: CorpusRow, before: string, after = '}'): Buffer {
  return Buffer.concat([Buffer.from(before), content, Buffer.from(after)]);
}

/** Whether an error says where the fault is. Of what is nested too deeply the path is cut. */
export function saysWhere(text: string, { json, about, at = '' }: CorpusRow, place = 'payload'): boolean {
  if (!json) return true;
  return about === 'deep' ? text.includes('512 deep') : text.includes(`${place}${at} `);
}
