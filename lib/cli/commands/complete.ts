import { createDelayQueueAdmin } from '../../composition/create-delay-queue-admin.js';
import type { AddCommand } from '../command.js';
import { type Completions, completionsOf } from '../completions.js';
import { COMPLETE } from '../completion-scripts.js';
import { say } from '../paint.js';

/** How long somebody who has pressed the tab key waits for names. */
const PATIENCE = '1s';

/** What the scripts of `completion` call. */
export const complete: AddCommand = (program, cli) => {
  program
    .command(COMPLETE, { hidden: true })
    .argument('[words...]')
    .action(async (words) => {
      const completions = completionsOf(program, words);
      const known = completions.names ? await namesOf(completions.names, completions) : completions.values;
      const current = words.at(-1) ?? '';
      const fitting = known.filter((name) => name.startsWith(current));
      if (fitting.length > 0) say(cli.terminal.stdout, `${fitting.join('\n')}\n`, false);
    });

  /** None if Redis is away: a completion says nothing. */
  async function namesOf(kind: 'topic' | 'schedule', { redis, prefix }: Completions): Promise<string[]> {
    try {
      const silent = { log: () => {}, warn: () => {}, error: () => {} };
      if (redis !== undefined) program.setOptionValue('redis', redis);
      if (prefix !== undefined) program.setOptionValue('prefix', prefix);
      const admin = await createDelayQueueAdmin({ ...cli.connectionOptions, timeout: PATIENCE, log: silent });
      const names =
        kind === 'topic'
          ? admin.topics()
          : admin.schedules.listKnown().then(({ schedules }) => schedules.map(({ id }) => id));
      return await names.finally(() => admin.close());
    } catch {
      return [];
    }
  }
};
