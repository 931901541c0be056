import { once } from 'node:events';
import { serveDashboard } from '../../dashboard/serve-dashboard.js';
import type { AddCommand } from '../command.js';
import { toPort } from '../given-values.js';
import { listening } from '../listening.js';
import { example } from '../program.js';

/** Address that it listens on, as its errors show it. */
const HOST = '127.0.0.1';

export const dashboard: AddCommand = (program, cli) => {
  program
    .command('dashboard')
    .summary('serve the dashboard to this machine')
    .description(
      'Serves the dashboard to this machine alone and prints its URL, which has a token in it, until Ctrl-C. ' +
        'It only shows, unless --operate is given.',
    )
    .option('--port <port>', 'port to listen on; one that is free by default', toPort, 0)
    .option('--operate', 'let it change something too')
    .addHelpText('after', example('dashboard --port 9300 --operate'))
    .action(async ({ port, operate = false }) => {
      await cli.open(async ({ admin, schedules, events }) =>
        cli.interruptible(async (ended) => {
          const log = { error: (text: string) => cli.note(text) };
          const queues = { admin, schedules, events };
          const served = await listening('dashboard', { host: HOST, port }, () =>
            serveDashboard({ queues, port, operate, actor: cli.actor, log }),
          );
          cli.print({ url: served.url, operate }, () => [`The dashboard is at ${served.url}`]);
          void served.lookAhead();
          if (!cli.isJson) {
            cli.note(`Whoever has this URL may ${operate ? 'operate the queues' : 'look'}. Ctrl-C ends it.`);
          }
          if (!ended.aborted) await once(ended, 'abort');
          await served.close();
        }),
      );
    });
};
