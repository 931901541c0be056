import type { AuditEntry } from '../../events/audit-log.js';
import type { AddCommand } from '../command.js';
import { toNumber } from '../given-values.js';
import { example } from '../program.js';
import { type Column, table } from '../table.js';
import { shown, shownValue } from '../text.js';

const COLUMNS: readonly Column<AuditEntry>[] = [
  { title: 'AT', cell: ({ at }) => at.toISOString() },
  { title: 'ACTOR', cell: ({ actor }) => shown(actor ?? '-') },
  { title: 'ACTION', cell: ({ action, phase }) => (phase === 'done' ? action : `${action} (${phase})`) },
  { title: 'TOPIC', cell: ({ topic }) => topic },
  { title: 'GIVEN', cell: ({ given }) => shownValue(given) },
  { title: 'RESULT', cell: ({ result, error }) => (error === undefined ? shownValue(result) : shown(error)) },
];

export const audit: AddCommand = (program, cli) => {
  program
    .command('audit')
    .summary('list what was done by whom')
    .description('Lists what operators have done with the queues, the latest first, a page at a time.')
    .option('--limit <number>', 'most entries, 1 to 200', toNumber, 50)
    .option('--cursor <cursor>', 'goes on behind the page that ended with it')
    .addHelpText('after', example('audit --limit 20'))
    .action(async ({ limit, cursor }) =>
      cli.open(async ({ admin }) => {
        const page = await admin.audit({ limit, cursor });
        cli.print(page, () => (page.entries.length === 0 ? [] : table(COLUMNS, page.entries, cli)));
        if (cli.isJson) return;
        if (page.entries.length === 0) cli.note('Nobody has changed anything yet.');
        if (page.cursor !== undefined) cli.note(`There are more: --cursor ${page.cursor}`);
      }),
    );
};
