import { addScheduleActions, foundSchedule } from '../acting.js';
import type { Cli } from '../cli.js';
import { toldError } from '../cli-error.js';
import { type AddCommand, SCHEDULE } from '../command.js';
import { toNumber } from '../given-values.js';
import { type Program, example } from '../program.js';
import type { Schedule } from '../../index.js';
import type { Paint } from '../paint.js';
import { type Column, pairs, table } from '../table.js';
import { shown, shownCount, shownNumber, shownValue, told } from '../text.js';
import { relative, shownDuration, shownTime } from '../times.js';

type Group = ReturnType<typeof groupIn>;

/** Adds a command of the group. */
type AddToGroup = (group: Group, cli: Cli) => void;

export const schedules: AddCommand = (program, cli) => {
  const group = groupIn(program);
  for (const add of [list, get, occurrencesOf, addScheduleActions, prune]) add(group, cli);
};

function groupIn(program: Program) {
  return program
    .command('schedules')
    .summary('list schedules, and act on them')
    .description('Lists schedules, and acts on them.')
    .addHelpText('after', example('schedules list', 'schedules next report.daily --count 10'));
}

const list: AddToGroup = (group, cli) => {
  group
    .command('list')
    .summary('list all schedules')
    .description('Lists all schedules with their rules, and when they occurred last and occur next.')
    .addHelpText('after', example('schedules list'))
    .action(async () =>
      cli.open(async (queues) => {
        const { schedules: all, failed } = await queues.schedules.listKnown();
        const untold = failed.map(({ topic, ids, error }) => ({ topic, ids, ...toldError(error) }));
        cli.exitCode = untold[0]?.exitCode ?? cli.exitCode;
        cli.print(
          { schedules: all, failed: untold.map(({ topic, ids, code, message }) => ({ topic, ids, code, message })) },
          () => [
            ...(all.length === 0 ? [] : table(scheduleColumns(queues.broker.now(), cli.paint), all, cli)),
            ...untold.map(({ topic, ids, message }) =>
              cli.paint('red', `Not told, of topic '${topic}': ${shown(ids.join(', '))}. ${shown(message)}`),
            ),
          ],
        );
        if (all.length + untold.length > 0) return;
        if (!cli.isJson) cli.note('There are no schedules.');
        await cli.tellEmpty(queues);
      }),
    );
};

const get: AddToGroup = (group, cli) => {
  group
    .command('get')
    .summary('show a schedule with all that is known of it')
    .description('Shows a schedule: its rule, payload and options, and when it occurred last and occurs next.')
    .argument(...SCHEDULE)
    .addHelpText('after', example('schedules get report.daily'))
    .action(async (id) =>
      cli.open(async (queues) => {
        const schedule = await foundSchedule(queues, id);
        cli.print(schedule, () => scheduleLines(schedule, queues.broker.now(), cli.paint));
      }),
    );
};

const occurrencesOf: AddToGroup = (group, cli) => {
  group
    .command('next')
    .summary('tell the next occurrences of a schedule')
    .description(
      'Tells the times of the next occurrences of a schedule; of one that is paused, those that it would have if it went on now.',
    )
    .argument(...SCHEDULE)
    .option('--count <number>', 'how many, 1 to 1000', toNumber, 5)
    .addHelpText('after', example('schedules next report.daily --count 10'))
    .action(async (id, { count }) =>
      cli.open(async (queues) => {
        const occurrences = await queues.schedules.next(id, count);
        if (occurrences.length === 0) await foundSchedule(queues, id);
        const now = queues.broker.now();
        cli.print({ id, occurrences }, () => occurrences.map((at) => shownTime(at, now)));
        if (occurrences.length === 0 && !cli.isJson) cli.note(`Schedule '${shown(id)}' has ended.`);
      }),
    );
};

const prune: AddToGroup = (group, cli) => {
  group
    .command('prune')
    .summary('remove what a @RecurringHandler() declared once, and none can declare now')
    .description(
      'Removes the schedules that a @RecurringHandler() once declared, of topics that no process of the fleet has a handler for. ' +
        'While the fleet is away those are all: each comes back at the next boot of its handler, but not paused any more. It asks first.',
    )
    .option('--dry-run', 'name them, and change nothing')
    .addHelpText('after', example('schedules prune --dry-run'))
    .action(async ({ dryRun = false }) =>
      cli.open(async (queues) => {
        const matched = await queues.schedules.prune({ dryRun: true });
        if (!dryRun && matched.length > 0) {
          const what = `This removes ${shownCount(matched.length, 'schedule')}: ${shown(matched.join(', '))}.`;
          await cli.confirm({ type: cli.prefix, called: 'the prefix of the queues', what, hasDryRun: true });
        }
        const removed = dryRun || matched.length === 0 ? [] : await queues.schedules.prune({ actor: cli.actor });
        const named = dryRun ? matched : removed;
        cli.print({ matched, removed, dryRun }, () => [
          `${shownCount(named.length, 'schedule')} ${dryRun ? 'would be ' : ''}removed.`,
          ...named.map((id) => `  ${shown(id)}`),
        ]);
      }),
    );
};

/** Returns the columns of a list of schedules. */
function scheduleColumns(now: number, paint: Paint): Column<Schedule>[] {
  return [
    { title: 'ID', cell: ({ id }) => shown(id) },
    { title: 'RULE', cell: ruleOf },
    {
      title: 'NEXT',
      cell: (schedule) => (schedule.next ? relative(schedule.next, now) : stopOf(schedule)),
      paint: (text, { paused }) => (paused ? paint('yellow', text) : text),
    },
    { title: 'LAST', cell: ({ last }) => (last ? relative(last, now) : '-') },
    { title: 'MISSED', cell: ({ missed }) => shownNumber(missed), align: 'right' },
    { title: 'TOPIC', cell: ({ topic }) => topic },
  ];
}

/** Returns everything that is known about a schedule. */
function scheduleLines(schedule: Schedule, now: number, paint: Paint): string[] {
  const { id, topic, partition, key, headers, payload, catchUp, overlap, next, last, missed, declared } = schedule;
  const time = (at: Date): string => shownTime(at, now);
  return pairs(
    [
      ['id', shown(id)],
      ['topic', `${topic}, partition ${partition}`],
      ['key', shown(key)],
      ['rule', ruleOf(schedule)],
      ['starts', told(schedule.startAt, time)],
      ['ends', told(schedule.endAt, time)],
      ['next', next ? time(next) : stopOf(schedule)],
      ['last', shownTime(last, now)],
      ['missed', shownNumber(missed)],
      ['catch up', catchUp],
      ['overlap', overlap],
      ['declared', declared ? 'by a @RecurringHandler()' : 'no'],
      ['headers', shownValue(headers)],
      ['payload', shownValue(payload)],
    ],
    paint,
  );
}

function ruleOf({ every, cron, timeZone }: Schedule): string {
  return every === undefined ? shown(`${cron} ${timeZone}`) : `every ${shownDuration(every)}`;
}

/** Returns why it has no next occurrence. */
function stopOf({ paused }: Schedule): string {
  return paused ? 'paused' : 'ended';
}
