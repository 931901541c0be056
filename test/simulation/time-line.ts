import type { Outcome } from './simulate.js';
import { BEGIN } from './world/world.js';

/** The longest line, and the most of them. */
const WIDTH = 220;
const MOST = 120;

/** What concerns everybody. */
const COMMON =
  /^(accident|starts|leaves|is gone|is away|stands still|lost its connection|fails over|its clock is set|\{.*\} moves)/;

interface Line {
  readonly time: number;
  readonly who: string;
  readonly what: string;
}

/** Who did what, in the order of time. */
export class TimeLine {
  readonly #lines: Line[] = [];
  readonly #hasAll: boolean;

  /** @param hasAll whether it tells of all that happens, at full length */
  constructor(hasAll: boolean) {
    this.#hasAll = hasAll;
  }

  add(time: number, who: string, what: string): void {
    this.#lines.push({ time, who, what });
  }

  /** Tells of what has to do with the first promise that was broken, or of the end. */
  tell({ plan, hash, violations, deliveries, accidents }: Outcome): string {
    const [first] = violations;
    const about = (first?.about ?? []).map(
      (text) => new RegExp(`(?<![\\w-])${text.replaceAll(/[^\w]/g, '\\$&')}(?![\\w-])`),
    );
    const concerns = ({ who, what }: Line): boolean =>
      who === 'rules' || COMMON.test(what) || about.length === 0 || about.some((one) => one.test(what));
    const told = this.#hasAll ? this.#lines : this.#lines.filter(concerns).slice(-MOST);
    return [
      JSON.stringify(plan),
      `${hash}: ${deliveries} deliveries, ${accidents.length} accidents`,
      ...told.map(({ time, who, what }) => {
        const at = (time - BEGIN).toFixed(1).padStart(10);
        const text = `${at}  ${(who || 'world').padEnd(6)} ${what}`;
        return text.length > WIDTH && !this.#hasAll ? `${text.slice(0, WIDTH)}…` : text;
      }),
      ...violations.map(({ rule, text }) => `${rule}: ${text}`),
    ].join('\n');
  }
}
