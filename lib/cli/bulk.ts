import type { BulkOptions, BulkResult } from '../admin/index.js';
import type { Cli, Queues } from './cli.js';
import { CliError } from './cli-error.js';
import { EXIT } from './exit-codes.js';
import { messageColumns } from './message-lines.js';
import { Progress } from './progress.js';
import { table } from './table.js';
import { isInteractive } from './terminal.js';
import { shownCount, shownNumber } from './text.js';

export interface BulkOperation {
  readonly topic: string;
  /** Noun for one of them, such as `dead letter`. */
  readonly noun?: string | undefined;
  /** Outcome for them, such as `requeued`. */
  readonly done: string;
  readonly dryRun: boolean;
  /** Verb for an effect that cannot be undone, such as `removes`; it has to be confirmed first. */
  readonly destroys?: string;
  readonly call: (queues: Queues, options: BulkOptions) => Promise<BulkResult>;
  /** Error if one message was meant and is not there. */
  readonly missing?: (() => CliError) | undefined;
}

/**
 * Counts, asks for a confirmation if something would be removed, and then acts, with progress and a way to stop.
 *
 * @throws CliError if the topic was never used, it was not confirmed or was interrupted, or the one message that is meant is not there
 */
export async function runBulk(cli: Cli, queues: Queues, operation: BulkOperation): Promise<void> {
  const { topic, noun = 'message', done, dryRun, destroys, call, missing } = operation;
  await cli.assertKnown(queues, topic);
  await cli.interruptible(async (signal) => {
    const print = ({ examples, ...counts }: BulkResult, lines: () => string[]): void =>
      cli.print({ topic, ...counts, dryRun, aborted: signal.aborted, ...(dryRun && { examples }) }, lines);

    const counting = new Progress(cli.terminal, cli.notePaint, 'counted');
    const { actor } = cli;
    const counted = await call(queues, {
      actor,
      dryRun: true,
      signal,
      onProgress: (progress) => counting.update(progress.matched),
    }).finally(() => counting.end());
    if (signal.aborted) throw interrupted('Nothing was changed.');
    const { matched, examples: shown = [] } = counted;
    const [example] = shown;
    if (matched === 0 && missing) throw missing();
    const examples = (): string[] =>
      example ? table(messageColumns(example.state, shown, queues.broker.now()), shown, cli) : [];
    if (dryRun || matched === 0) {
      const would = `${shownCount(matched, noun)} ${dryRun ? 'would be ' : ''}${done}`;
      print(counted, () => (example ? [`${would}, such as`, ...examples()] : [`${would}.`]));
      return;
    }
    if (destroys) {
      if (isInteractive(cli.terminal)) cli.note(examples().join('\n'));
      await cli.confirm({
        type: topic,
        called: 'the name of the topic',
        what: `This ${destroys} ${shownCount(matched, noun)} of topic '${topic}' for good.`,
        hasDryRun: true,
      });
    }
    const progress = new Progress(cli.terminal, cli.notePaint, done, matched);
    const outcome = await call(queues, {
      actor,
      dryRun: false,
      signal,
      onProgress: ({ changed }) => progress.update(changed),
    }).finally(() => progress.end());
    print(outcome, () => [`${shownCount(outcome.changed, noun)} ${done}.`]);
    if (signal.aborted) throw interrupted(`${shownNumber(outcome.changed)} were ${done} before.`);
  });
}

/** @param what state of the work, as a sentence */
export function interrupted(what: string): CliError {
  return new CliError(EXIT.interrupted, 'INTERRUPTED', `It was interrupted. ${what}`);
}
