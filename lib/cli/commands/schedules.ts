import { didYouMean } from '../../checks/nearest.js';
import type { Schedule } from '../../index.js';
import type { Cli, Queues } from '../cli.js';
import { type CliError, notFound, toldError } from '../cli-error.js';
import { type AddCommand, SCHEDULE } from '../command.js';
import { toNumber } from '../given-values.js';
import { type Program, example } from '../program.js';
import { scheduleColumns, scheduleLines } from '../schedule-lines.js';
import { table } from '../table.js';
import { shown, shownCount } from '../text.js';
import { shownTime } from '../times.js';

type Group = ReturnType<typeof groupIn>;

/** Adds a command of the group. */
type AddToGroup = (group: Group, cli: Cli) => void;

export const schedules: AddCommand = (program, cli) => {
  const group = groupIn(program);
  for (const add of [list, get, next, pause, resume, runNow, remove, prune]) add(group, cli);
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
        const schedule = await found(queues, id);
        cli.print(schedule, () => scheduleLines(schedule, queues.broker.now(), cli.paint));
      }),
    );
};

const next: AddToGroup = (group, cli) => {
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
        if (occurrences.length === 0) await found(queues, id);
        const now = queues.broker.now();
        cli.print({ id, occurrences }, () => occurrences.map((at) => shownTime(at, now)));
        if (occurrences.length === 0 && !cli.isJson) cli.note(`Schedule '${shown(id)}' has ended.`);
      }),
    );
};

const pause: AddToGroup = (group, cli) => {
  group
    .command('pause')
    .summary('let nothing of a schedule occur until it is resumed')
    .description('Lets nothing of a schedule occur until it is resumed. What has occurred stays.')
    .argument(...SCHEDULE)
    .addHelpText('after', example('schedules pause report.daily'))
    .action(async (id) =>
      cli.open(async (queues) => {
        if (!(await queues.schedules.pause(id, { actor: cli.actor }))) throw await missing(queues, id);
        cli.print({ id, paused: true }, () => [`Schedule '${shown(id)}' is paused.`]);
      }),
    );
};

const resume: AddToGroup = (group, cli) => {
  group
    .command('resume')
    .summary('end the pause of a schedule')
    .description(
      'Ends the pause of a schedule: it goes on with its next occurrence, and those of the pause are not caught up.',
    )
    .argument(...SCHEDULE)
    .addHelpText('after', example('schedules resume report.daily'))
    .action(async (id) =>
      cli.open(async (queues) => {
        if (!(await queues.schedules.resume(id, { actor: cli.actor }))) throw await missing(queues, id);
        cli.print({ id, paused: false }, () => [`Schedule '${shown(id)}' is not paused any more.`]);
      }),
    );
};

const runNow: AddToGroup = (group, cli) => {
  group
    .command('run-now')
    .summary('publish the message of a schedule now')
    .description('Publishes the message of a schedule now, beside its occurrences, even if it is paused.')
    .argument(...SCHEDULE)
    .addHelpText('after', example('schedules run-now report.daily'))
    .action(async (id) =>
      cli.open(async (queues) => {
        await found(queues, id);
        const published = await queues.schedules.runNow(id, { actor: cli.actor });
        cli.print(published, () => [`Message '${shown(published.id)}' of topic '${published.topic}' is due now.`]);
      }),
    );
};

const remove: AddToGroup = (group, cli) => {
  group
    .command('remove')
    .summary('remove a schedule')
    .description('Removes a schedule. What has occurred stays. It asks first.')
    .argument(...SCHEDULE)
    .addHelpText('after', example('schedules remove report.daily --yes'))
    .action(async (id) =>
      cli.open(async (queues) => {
        const { declared } = await found(queues, id);
        const again = declared ? ' If a @RecurringHandler() declares it still, the next boot stores it again.' : '';
        const what = `This removes schedule '${shown(id)}' for good.${again}`;
        await cli.confirm({ type: id, called: 'the id of the schedule', what, hasDryRun: false });
        if (!(await queues.schedules.remove(id, { actor: cli.actor }))) throw await missing(queues, id);
        cli.print({ id, removed: true }, () => [`Schedule '${shown(id)}' is removed.`]);
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

/** @throws CliError if there is no such schedule */
async function found(queues: Queues, id: string): Promise<Schedule> {
  const schedule = await queues.schedules.get(id);
  if (schedule) return schedule;
  throw await missing(queues, id);
}

async function missing(queues: Queues, id: string): Promise<CliError> {
  const known = (await queues.schedules.listKnown()).schedules.map((schedule) => schedule.id);
  return notFound(`There is no schedule '${shown(id)}'.${shown(didYouMean(id, known))}`);
}
