import { Option } from '@commander-js/extra-typings';
import { outboxDdl } from '../../outbox/table/ddl.js';
import { DIALECTS } from '../../outbox/table/outbox-adapter.interface.js';
import type { AddCommand } from '../command.js';
import { toNumber } from '../given-values.js';
import { example } from '../program.js';

export const outbox: AddCommand = (program, cli) => {
  const command = program.command('outbox').summary('what the outbox in your database needs');
  command
    .command('ddl')
    .summary('print the statements that make its tables')
    .description(
      'Prints the statements that make the tables of the outbox, for a migration of yours. Nothing is sent to Redis or to the database.',
    )
    .addOption(new Option('--dialect <dialect>', 'SQL of the database').choices(DIALECTS).makeOptionMandatory())
    .option('--table <table>', 'name of the table, with its schema or without', 'delay_queue_outbox')
    .option('--inbox-table <table>', 'name of the table of the inbox, likewise', 'delay_queue_inbox')
    .option('--shards <number>', 'most processes that relay at the same time, 1 to 64', toNumber, 1)
    .addHelpText('after', example('outbox ddl --dialect postgres > migrations/outbox.sql'))
    .action(({ dialect, ...tables }) => {
      const ddl = outboxDdl(dialect, tables);
      cli.print({ dialect, ...tables, ddl }, () => ddl.trimEnd().split('\n'));
    });
};
