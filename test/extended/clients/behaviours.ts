import { readFileSync } from 'node:fs';
import type { Suite } from './suites.js';

export const BEHAVIOUR_LIST = 'clients/BEHAVIOUR.md';

const ROW = /^\| (B\d\d) +\| ([a-z, ]+?) +\|/gm;

/** The numbers of what a suite has to show, by the table of `clients/BEHAVIOUR.md`. */
export function numbersFor({ name, shows }: Pick<Suite, 'name' | 'shows'>): string[] {
  const rows = [...readFileSync(BEHAVIOUR_LIST, 'utf8').matchAll(ROW)];
  const isShown = (who: string): boolean => ['all', shows].includes(who) || who.split(', ').includes(name);
  return rows.filter(([, , who = '']) => isShown(who)).map(([, number]) => String(number));
}

const LINE = /^(?:(ok) (B\d\d)|not ok (B\d\d) - (.*))$/gm;

/** What a suite has printed, by number: `ok`, or why not. A number that was printed twice is a mistake of the suite. */
export function outcomesIn(output: string): Record<string, string> {
  const outcomes: Record<string, string> = {};
  for (const [, ok, passed, failed, why] of output.matchAll(LINE)) {
    const number = passed ?? failed ?? '';
    outcomes[number] = number in outcomes ? 'printed twice' : (ok ?? `not ok: ${why}`);
  }
  return outcomes;
}
