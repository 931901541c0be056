import type { Paint } from './paint.js';
import { isInteractive, type Terminal } from './terminal.js';
import { shownDuration } from './times.js';
import { shownNumber } from './text.js';

/** Between two pictures of the bar, and between two lines where there is no terminal; milliseconds. */
const BAR_PERIOD = 100;
const LINE_PERIOD = 10_000;

const BAR_LENGTH = 24;

/** Takes away what stands in the line of the cursor. */
const CLEAR_LINE = '\r\u001B[2K';

/** How long something may take before it is told that it goes on, and between two such lines; milliseconds. */
const PATIENCE = 1000;

/** Tells on the standard error how far a long operation is: a bar on a terminal, a line now and then elsewhere. */
export class Progress {
  readonly #stderr: NodeJS.WriteStream;
  readonly #isBar: boolean;
  readonly #paint: Paint;
  readonly #what: string;
  readonly #total: number | undefined;
  readonly #startedAt = Date.now();
  #toldAt = this.#startedAt;
  #isDrawn = false;

  /**
   * @param what is done, such as `requeued`
   * @param total how many there are; `undefined`: nobody knows
   */
  constructor(terminal: Terminal, paint: Paint, what: string, total?: number) {
    this.#stderr = terminal.stderr;
    this.#isBar = isInteractive(terminal);
    this.#paint = paint;
    this.#what = what;
    this.#total = total;
  }

  update(done: number): void {
    const now = Date.now();
    if (now - this.#toldAt < (this.#isBar ? BAR_PERIOD : LINE_PERIOD)) return;
    this.#toldAt = now;
    const text = this.#text(done, now - this.#startedAt);
    if (!this.#isBar) {
      this.#stderr.write(`${text}\n`);
      return;
    }
    this.#stderr.write(`${CLEAR_LINE}${this.#bar(done)}${text}`);
    this.#isDrawn = true;
  }

  /** Takes the bar away: the result follows. */
  end(): void {
    if (this.#isDrawn) this.#stderr.write(CLEAR_LINE);
  }

  #bar(done: number): string {
    if (this.#total === undefined) return '';
    const filled = Math.min(BAR_LENGTH, Math.floor((done / Math.max(1, this.#total)) * BAR_LENGTH));
    return `${this.#paint('green', '█'.repeat(filled))}${this.#paint('dim', '░'.repeat(BAR_LENGTH - filled))} `;
  }

  #text(done: number, elapsed: number): string {
    const rate = elapsed > 0 ? (done / elapsed) * 1000 : 0;
    const left = (this.#total ?? 0) - done;
    const of = this.#total === undefined ? '' : ` of ${shownNumber(this.#total)}`;
    const rest = rate > 0 && left > 0 ? `, ${shownDuration((left / rate) * 1000)} left` : '';
    return `${shownNumber(done)}${of} ${this.#what}, ${shownNumber(Math.round(rate))}/s${rest}`;
  }
}

/** Says on a terminal that something goes on that takes its time and does not tell how far it is. */
export async function whileTelling<T>(terminal: Terminal, what: string, work: Promise<T>): Promise<T> {
  if (!isInteractive(terminal)) return work;
  const startedAt = Date.now();
  let isDrawn = false;
  const timer = setInterval(() => {
    terminal.stderr.write(`${CLEAR_LINE}${what} … ${shownDuration(Date.now() - startedAt)}`);
    isDrawn = true;
  }, PATIENCE);
  try {
    return await work;
  } finally {
    clearInterval(timer);
    if (isDrawn) terminal.stderr.write(CLEAR_LINE);
  }
}
