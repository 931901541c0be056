import type { Schedule } from '../../schedules/schedule.interface.js';
import type { Cli, Queues } from '../cli.js';
import { notFound } from '../cli-error.js';
import type { AddCommand } from '../command.js';
import { toNumber } from '../given-values.js';
import { example } from '../program.js';
import { type Column, pairs, table } from '../table.js';
import { shown, shownValue } from '../text.js';
import { relative, shownDuration, shownTime } from '../times.js';

const ID = ['<id>', 'id of the schedule'] as const;

/** What each command that changes a schedule has done. */
const CHANGES = {
  pause: { summary: 'publish nothing of a schedule until it is resumed', done: 'paused' },
  resume: { summary: 'end the pause of a schedule', done: 'resumed' },
  remove: { summary: 'remove a schedule, after asking; what it has published stays', done: 'removed' },
} as const;

export const schedules: AddCommand = (program, cli) => {
  const group = program
    .command('schedules')
    .summary('list schedules, and act on them')
    .description('Lists schedules, and acts on them.')
    .addHelpText('after', example('schedules', 'schedules list --json'));
  group
    .command('list', { isDefault: true })
    .summary('list all schedules')
    .description('Lists all schedules with their rules, and when they published and will publish.')
    .addHelpText('after', example('schedules', 'schedules list --json'))
    .action(async () =>
      cli.open(async (queues) => {
        const all = await queues.schedules.list();
        cli.print({ schedules: all }, () => (all.length === 0 ? [] : table(columns(queues.broker.now()), all, cli)));
        if (all.length === 0 && !cli.isJson) cli.note('There are no schedules.');
      }),
    );
  group
    .command('get')
    .summary('show a schedule and its next runs')
    .description('Shows a schedule with all that is known of it, and its next occurrences.')
    .argument(...ID)
    .option('--next <number>', 'how many of its next occurrences', toNumber, 5)
    .addHelpText('after', example('schedules get report.daily --next 10'))
    .action(async (id, { next }) =>
      cli.open(async (queues) => {
        const schedule = await assertFound(queues, id);
        const occurrences = await queues.schedules.next(id, next);
        cli.print({ ...schedule, occurrences }, () => linesOf(schedule, occurrences, queues.broker.now(), cli));
      }),
    );
  for (const [name, { summary, done }] of Object.entries(CHANGES)) {
    group
      .command(name)
      .summary(summary)
      .description(`${summary[0]?.toUpperCase()}${summary.slice(1)}.`)
      .argument(...ID)
      .addHelpText('after', example(`schedules ${name} report.daily`))
      .action(async (id) =>
        cli.open(async (queues) => {
          const { declared } = await assertFound(queues, id);
          if (name === 'remove') {
            const again = declared ? ' A handler declares it, so it comes back when a process boots.' : '';
            await cli.confirm(id, `This removes the schedule '${shown(id)}'.${again}`, { kind: 'schedule' });
          }
          const changed = await queues.schedules[name as keyof typeof CHANGES](id, { actor: cli.actor });
          cli.print({ id, [done]: changed }, () => [
            changed ? `Schedule '${shown(id)}' is ${done}.` : `Schedule '${shown(id)}' was that already.`,
          ]);
        }),
      );
  }
  group
    .command('run-now')
    .summary('publish a message of a schedule now')
    .description('Publishes a message of a schedule now, beside its usual times.')
    .argument(...ID)
    .addHelpText('after', example('schedules run-now report.daily'))
    .action(async (id) =>
      cli.open(async (queues) => {
        await assertFound(queues, id);
        const published = await queues.schedules.runNow(id, { actor: cli.actor });
        cli.print(published, () => [`Published as message '${shown(published.id)}'.`]);
      }),
    );
};

/** @throws CliError if there is no such schedule */
async function assertFound(queues: Queues, id: string): Promise<Schedule> {
  const schedule = await queues.schedules.get(id);
  if (!schedule) throw notFound(`There is no schedule '${shown(id)}'.`);
  return schedule;
}

function columns(now: number): Column<Schedule>[] {
  return [
    { title: 'ID', cell: ({ id }) => shown(id) },
    { title: 'RULE', cell: ruleOf },
    { title: 'NEXT', cell: (schedule) => nextOf(schedule, now) },
    { title: 'LAST', cell: ({ last }) => (last ? relative(last, now) : '-') },
    { title: 'MISSED', cell: ({ missed }) => String(missed), align: 'right' },
    { title: 'TOPIC', cell: ({ topic }) => topic },
  ];
}

function ruleOf({ every, cron, timeZone }: Schedule): string {
  return every === undefined ? `${shown(cron ?? '')} ${shown(timeZone ?? 'UTC')}` : `every ${shownDuration(every)}`;
}

function nextOf({ paused, next }: Schedule, now: number): string {
  if (paused) return 'paused';
  return next ? relative(next, now) : 'ended';
}

function linesOf(schedule: Schedule, occurrences: readonly Date[], now: number, { paint }: Cli): string[] {
  const { id, topic, partition, key, payload, catchUp, overlap, last, missed, declared } = schedule;
  return [
    ...pairs(
      [
        ['id', shown(id)],
        ['topic', `${topic}, partition ${partition}`],
        ['key', shown(key)],
        ['rule', ruleOf(schedule)],
        ['catch up', catchUp],
        ['overlap', overlap],
        ['declared', declared ? 'by a @RecurringHandler()' : 'no'],
        ['last', shownTime(last, now)],
        ['missed', String(missed)],
        ['payload', shownValue(payload)],
      ],
      paint,
    ),
    '',
    ...(occurrences.length === 0 ? [nextOf(schedule, now)] : occurrences.map((at) => `  ${shownTime(at, now)}`)),
  ];
}
