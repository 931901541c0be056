import { createDelayQueueAdmin } from '../../composition/create-delay-queue-admin.js';
import type { AddCommand } from '../command.js';
import { completionsOf } from '../completions.js';
import { COMPLETE } from '../completion-scripts.js';
import { say } from '../paint.js';

/** How long somebody who has pressed the tab key waits for topics. */
const PATIENCE = '1s';

/** What the scripts of `completion` call. */
export const complete: AddCommand = (program, cli) => {
  program
    .command(COMPLETE, { hidden: true })
    .argument('[words...]')
    .action(async (words) => {
      const { values, takesTopic, redis, prefix } = completionsOf(program, words);
      const names = takesTopic ? await topicsOf(redis, prefix) : values;
      const current = words.at(-1) ?? '';
      const fitting = names.filter((name) => name.startsWith(current));
      if (fitting.length > 0) say(cli.terminal.stdout, `${fitting.join('\n')}\n`, false);
    });

  /** None if Redis is away: a completion says nothing. */
  async function topicsOf(redis: string | undefined, prefix: string | undefined): Promise<string[]> {
    try {
      const silent = { log: () => {}, warn: () => {}, error: () => {} };
      if (redis !== undefined) program.setOptionValue('redis', redis);
      if (prefix !== undefined) program.setOptionValue('prefix', prefix);
      const admin = await createDelayQueueAdmin({ ...cli.connectionOptions, timeout: PATIENCE, log: silent });
      return await admin.topics().finally(() => admin.close());
    } catch {
      return [];
    }
  }
};
