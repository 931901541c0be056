import type { Paint } from './paint.js';
import { isInteractive, type Terminal } from './terminal.js';
import { shownDuration } from './times.js';
import { shownNumber } from './text.js';

/** Time between two updates of the bar, and between two lines where there is no terminal; in milliseconds. */
const BAR_PERIOD = 100;
const LINE_PERIOD = 10_000;

const BAR_LENGTH = 24;

/** Clears the line of the cursor. */
const CLEAR_LINE = '\r\u001B[2K';

/** Time before a note that something is still running, and between two such lines; in milliseconds. */
const PATIENCE = 1000;

/** Shows the progress of a long operation on the standard error: as a bar on a terminal, as occasional lines elsewhere. */
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
   * @param what the outcome, such as `requeued`
   * @param total the total number; `undefined`: unknown
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

  /** Removes the bar: the result follows. */
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

/** Notes on a terminal that work without progress of its own is still running. */
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
