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
  /** What becomes of them, and the name of their number in JSON: `requeued` or `removed`. */
  readonly done: 'requeued' | 'removed';
  readonly dryRun: boolean;
  /** What cannot be undone is asked about first. */
  readonly destroys: boolean;
  readonly call: (call: BulkCall) => Promise<BulkOutcome>;
  /** Told if one message was meant that is not there. */
  readonly missing?: (() => Promise<CliError>) | undefined;
}

/**
 * Counts, asks if something would be removed, and then does it, with progress and a way to stop.
 *
 * @throws CliError if it was not confirmed, or interrupted, or the one that is meant is not there
 */
export async function runBulk(cli: Cli, operation: BulkOperation): Promise<void> {
  const { topic, singular, done, dryRun, destroys, call, missing } = operation;
  await cli.interruptible(async (signal) => {
    const print = ({ matched, changed }: BulkOutcome, lines: () => string[]): void =>
      cli.print({ topic, matched, [done]: changed, dryRun, aborted: signal.aborted }, lines);

    const counting = new Progress(cli.terminal, cli.notePaint, 'counted');
    const { actor } = cli;
    const { matched } = await call({
      actor,
      dryRun: true,
      signal,
      onProgress: (progress) => counting.update(progress.matched),
    }).finally(() => counting.end());
    if (signal.aborted) throw interrupted('Nothing was changed.');
    if (matched === 0 && missing) throw await missing();
    if (dryRun || matched === 0) {
      print({ matched, changed: 0 }, () => [`${shownCount(matched, singular)} ${dryRun ? 'would be ' : ''}${done}.`]);
      return;
    }
    if (destroys) {
      await cli.confirm(topic, `This removes ${shownCount(matched, singular)} of topic '${topic}' for good.`);
    }
    const progress = new Progress(cli.terminal, cli.notePaint, done, matched);
    const outcome = await call({
      actor,
      dryRun: false,
      signal,
      onProgress: ({ changed }) => progress.update(changed),
    }).finally(() => progress.end());
    print(outcome, () => [`${shownCount(outcome.changed, singular)} ${done}.`]);
    if (signal.aborted) throw interrupted(`${shownNumber(outcome.changed)} were ${done} before.`);
  });
}

function interrupted(what: string): CliError {
  return new CliError(EXIT.interrupted, 'INTERRUPTED', `It was interrupted. ${what}`);
}
