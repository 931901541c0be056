import type { BulkProgress } from '../admin/bulk-options.js';
import type { Cli } from './cli.js';
import { CliError } from './cli-error.js';
import { EXIT } from './exit-codes.js';
import { Progress } from './progress.js';
import { shownCount, shownNumber } from './text.js';

/** What a bulk operation answers. */
export interface BulkOutcome {
  readonly matched: number;
  /** How many it has changed. */
  readonly changed: number;
  /** How many of them are being handled, and end when their handlers do; only of a cancel. */
  readonly inFlight?: number;
}

/** How a bulk operation is called. */
export interface BulkCall {
  readonly actor: string;
  readonly dryRun: boolean;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: BulkProgress) => void;
}

export interface BulkOperation {
  readonly topic: string;
  /** What one of them is, such as `dead letter`. */
  readonly singular: string;
  /** What JSON says of them beside the topic. */
  readonly about?: Readonly<Record<string, unknown>>;
  /** What becomes of them, and the name of their number in JSON. */
  readonly done: 'requeued' | 'removed' | 'cancelled';
  readonly dryRun: boolean;
  /** What is asked first, as the question says it; `undefined`: it can be undone, so nothing is asked. */
  readonly destroys: 'removes' | 'cancels' | undefined;
  readonly call: (call: BulkCall) => Promise<BulkOutcome>;
  /** Told if one message was meant that is not there. */
  readonly missing?: CliError | undefined;
}

/**
 * Counts, asks if something would be removed, and then does it, with progress and a way to stop.
 *
 * @throws CliError if it was not confirmed, or interrupted, or the one that is meant is not there
 */
export async function runBulk(cli: Cli, operation: BulkOperation): Promise<void> {
  const { topic, singular, about, done, dryRun, destroys, call, missing } = operation;
  await cli.interruptible(async (signal) => {
    const print = ({ matched, changed, ...more }: BulkOutcome, lines: () => string[]): void =>
      cli.print({ topic, ...about, matched, [done]: changed, ...more, dryRun, aborted: signal.aborted }, lines);

    const counting = new Progress(cli.terminal, cli.notePaint, 'counted');
    const counted = await call({
      actor: cli.actor,
      dryRun: true,
      signal,
      onProgress: (progress) => counting.update(progress.matched),
    }).finally(() => counting.end());
    const { matched } = counted;
    if (signal.aborted) throw interrupted('Nothing was changed.');
    if (matched === 0 && missing) throw missing;
    if (dryRun || matched === 0) {
      print(counted, () => [`${shownCount(matched, singular)} ${dryRun ? 'would be ' : ''}${done}.`]);
      return;
    }
    if (destroys) {
      await cli.confirm(topic, `This ${destroys} ${shownCount(matched, singular)} of topic '${topic}' for good.`, {
        hasDryRun: true,
      });
    }
    const progress = new Progress(cli.terminal, cli.notePaint, done, matched);
    const outcome = await call({
      actor: cli.actor,
      dryRun: false,
      signal,
      onProgress: ({ changed }) => progress.update(changed),
    }).finally(() => progress.end());
    const marked = outcome.inFlight ? `, ${shownCount(outcome.inFlight, singular)} in flight marked` : '';
    print(outcome, () => [`${shownCount(outcome.changed, singular)} ${done}${marked}.`]);
    if (signal.aborted) throw interrupted(`${shownNumber(outcome.changed)} were ${done} before.`);
  });
}

function interrupted(what: string): CliError {
  return new CliError(EXIT.interrupted, 'INTERRUPTED', `It was interrupted. ${what}`);
}
