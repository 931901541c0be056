import type { DoctorFinding, DoctorReport } from '../../admin/index.js';
import type { DelayQueueAdminOptions } from '../../index.js';
import { openConnection } from '../../composition/create-delay-queue-admin.js';
import { toldError } from '../cli-error.js';
import { EXIT } from '../exit-codes.js';
import type { AddCommand } from '../command.js';
import type { Paint, Style } from '../paint.js';
import { example } from '../program.js';
import { shown } from '../text.js';

const STYLES: Readonly<Record<DoctorFinding['level'], Style>> = { ok: 'green', warning: 'yellow', error: 'red' };

export const doctor: AddCommand = (program, cli) => {
  program
    .command('doctor')
    .summary('look at a Redis for all that is needed')
    .description(
      'Looks at a Redis for all that the promises of the library need, also at one that no application boots on: version, ' +
        'settings, memory, disk, replicas, rights, signals and clock. It ends with 1 if there is an error.',
    )
    .option('--strict', 'end with 1 if there is a warning, too')
    .option('--quiet', 'only what is not ok')
    .addHelpText('after', example('doctor --quiet'))
    .action(async ({ strict = false, quiet = false }) => {
      const silent = { log: () => {}, warn: () => {}, error: () => {} };
      const { findings, failure } = await examine({ ...cli.connectionOptions, log: silent });
      const bad = findings.filter(({ level }) => level === 'error' || (strict && level === 'warning'));
      const isAway = findings.length === 1 && bad[0]?.check === 'connection';
      if (isAway) cli.exitCode = failure === undefined ? EXIT.unavailable : toldError(failure).exitCode;
      else if (bad.length > 0) cli.exitCode = EXIT.no;
      const told = quiet ? findings.filter(({ level }) => level !== 'ok') : findings;
      cli.print({ findings: told }, () => told.flatMap((finding) => linesOf(finding, cli.paint)));
    });
};

/** @returns also the failure that kept it from connecting like any other command */
async function examine(options: DelayQueueAdminOptions): Promise<DoctorReport & { readonly failure: unknown }> {
  const connection = await openConnection('nestjs-delay-queue', options);
  try {
    const failure: unknown = await connection.broker.connect().then(
      () => undefined,
      (error: unknown) => error,
    );
    return { ...(await connection.admin.doctor()), failure };
  } finally {
    await connection.close();
  }
}

function linesOf({ check, level, message, advice }: DoctorFinding, paint: Paint): string[] {
  const line = `${paint(STYLES[level], level.padEnd(7))} ${paint('bold', check)}: ${shown(message)}`;
  return advice === '' ? [line] : [line, `        ${paint('dim', shown(advice))}`];
}
