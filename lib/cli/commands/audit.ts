import type { AuditEntry } from '../../admin/index.js';
import type { AddCommand } from '../command.js';
import { toNumber } from '../given-values.js';
import { example } from '../program.js';
import { type Column, table } from '../table.js';
import { shown, shownValue } from '../text.js';
import { shownTime } from '../times.js';

export const audit: AddCommand = (program, cli) => {
  program
    .command('audit')
    .summary('list who did what')
    .description('Lists who did what with the queues, the latest first, a page at a time.')
    .option('--limit <number>', 'most entries, 1 to 200', toNumber, 50)
    .option('--cursor <cursor>', 'goes on after the page that ended with it')
    .addHelpText('after', example('audit --limit 20'))
    .action(async ({ limit, cursor }) =>
      cli.open(async (queues) => {
        const { admin, broker } = queues;
        const page = await admin.audit({ limit, cursor });
        const isEmpty = page.entries.length === 0;
        cli.print(page, () => (isEmpty ? [] : table(columns(broker.now()), page.entries, cli)));
        if (isEmpty) await cli.tellEmpty(queues);
        if (cli.isJson) return;
        if (isEmpty) cli.note('The audit log has no entry.');
        if (page.cursor !== undefined) cli.note(`There are more: --cursor ${page.cursor}`);
      }),
    );
};

function columns(now: number): Column<AuditEntry>[] {
  return [
    { title: 'AT', cell: ({ at }) => shownTime(at, now) },
    { title: 'ACTOR', cell: ({ actor }) => shown(actor ?? '-') },
    { title: 'ACTION', cell: ({ action, phase }) => (phase === 'done' ? action : `${action} (${phase})`) },
    { title: 'TOPIC', cell: ({ topic }) => shown(topic) },
    { title: 'RESULT', cell: ({ result, error }) => (error === undefined ? shownValue(result) : shown(error)) },
    { title: 'GIVEN', cell: ({ given }) => shownValue(given) },
  ];
}
