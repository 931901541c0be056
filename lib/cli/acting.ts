import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import type { BulkOptions } from '../admin/index.js';
import type { MessageRef, Schedule } from '../index.js';
import type { ActionOn, Target } from '../admin/catalogue/action.js';
import { ACTIONS, type NamedAction } from '../admin/catalogue/actions.js';
import { didYouMean } from '../checks/nearest.js';
import { runBulk } from './bulk.js';
import type { Cli, Queues } from './cli.js';
import { type CliError, notFound, usageError } from './cli-error.js';
import { type AddCommand, ID, KEY, SCHEDULE, TOPIC } from './command.js';
import { deadLetterCommand, filterCommand, filterOf, selectionOf } from './filters.js';
import { addFlags, flagsIn } from './flags.js';
import { messageRef, toNumber } from './given-values.js';
import { example } from './program.js';
import { shown } from './text.js';
import { shownTime } from './times.js';

/** Returns the commands of all actions on one of these targets. */
export function actingOn(...targets: readonly Target[]): AddCommand[] {
  return ACTIONS.filter(({ target }) => targets.includes(target)).map(
    (action) => (program, cli) => addAction(program, cli, action),
  );
}

/** Adds the commands of all actions on schedules to their group. */
export function addScheduleActions(group: CommandUnknownOpts, cli: Cli): void {
  for (const action of ACTIONS) if (action.target === 'schedule') onSchedule(group, cli, action);
}

type On<T extends Target> = Extract<NamedAction, ActionOn<T>>;

function addAction(parent: CommandUnknownOpts, cli: Cli, action: NamedAction): void {
  switch (action.target) {
    case 'message':
      return onMessage(parent, cli, action);
    case 'messages':
      return onMessages(parent, cli, action);
    case 'deadLetters':
      return onDeadLetters(parent, cli, action);
    case 'state':
      return onState(parent, cli, action);
    case 'topic':
      return onTopic(parent, cli, action);
    case 'schedule':
      return onSchedule(parent, cli, action);
  }
}

function onMessage(parent: CommandUnknownOpts, cli: Cli, action: On<'message'>): void {
  const command = parent
    .command(action.command)
    .argument(...TOPIC)
    .argument(...ID)
    .option(...KEY);
  tell(command, action).action(async () => {
    const [topic = '', id = ''] = command.args;
    const works = action.works(await inputOf(command, cli, action));
    const ref = messageRef(id, command.opts().key);
    await cli.open(async (queues) => changeOne(cli, queues, { action, works, topic, ref }));
  });
}

function onMessages(parent: CommandUnknownOpts, cli: Cli, action: On<'messages'>): void {
  const command = filterCommand(parent, action.command)
    .argument('[id]', 'id of the message; without one, those that fit a filter')
    .option(...RATE)
    .option(...DRY_RUN);
  tell(command, action);
  command.action(async (topic, id, { rate, dryRun = false, tag, key, text, field, from, to, all }) => {
    const given = await inputOf(command, cli, action);
    if (id !== undefined) {
      const forMany = action.onlyForMany?.map((name) => given[name]) ?? [];
      if (dryRun || [rate, tag, text, field, from, to, all, ...forMany].some((one) => one !== undefined))
        throw usageError('An id means one message: give beside it --key at most.');
      const works = action.works(given);
      await cli.open(async (queues) => changeOne(cli, queues, { action, works, topic, ref: messageRef(id, key) }));
      return;
    }
    const filter = filterOf({ tag, key, text, field, from, to, all });
    const works = action.works(given);
    const noun = works.inFlight ? 'message' : action.noun;
    const call = (queues: Queues, options: BulkOptions) => works.many(queues, { topic, filter }, { ...options, rate });
    await cli.open(async (queues) => runBulk(cli, queues, { ...action, noun, topic, dryRun, call }));
  });
}

function onDeadLetters(parent: CommandUnknownOpts, cli: Cli, action: On<'deadLetters'>): void {
  const command = deadLetterCommand(parent, action.command)
    .option(...RATE)
    .option(...DRY_RUN);
  tell(command, action);
  command.action(async (topic, options) => {
    const { id, key, all, fingerprint, text, reason, since, until, rate, dryRun = false } = options;
    const which = selectionOf({ id, key, all, fingerprint, text, reason, since, until });
    const given = await inputOf(command, cli, action);
    if (given['payload'] !== undefined && id === undefined)
      throw usageError('--payload is for one dead letter: give --id.');
    const works = action.works(given);
    const call = (queues: Queues, how: BulkOptions) => works.many(queues, { topic, which }, { ...how, rate });
    const missing = () => notFound(`Topic '${topic}' has no dead letter with the id '${shown(id ?? '')}'.`);
    await cli.open(async (queues) =>
      runBulk(cli, queues, { ...action, topic, dryRun, call, missing: id === undefined ? undefined : missing }),
    );
  });
}

function onState(parent: CommandUnknownOpts, cli: Cli, action: On<'state'>): void {
  const command = parent
    .command(action.command)
    .argument(...TOPIC)
    .option(...DRY_RUN);
  tell(command, action);
  command.action(async (topic, { dryRun = false }) => {
    const works = action.works(await inputOf(command, cli, action));
    const call = (queues: Queues, options: BulkOptions) => works.many(queues, { topic }, options);
    await cli.open(async (queues) => runBulk(cli, queues, { ...action, topic, dryRun, call }));
  });
}

function onTopic(parent: CommandUnknownOpts, cli: Cli, action: On<'topic'>): void {
  const command = parent.command(action.command).argument(...TOPIC);
  tell(command, action);
  command.action(async (topic) => {
    const works = action.works(await inputOf(command, cli, action));
    await cli.open(async (queues) => {
      await cli.assertKnown(queues, topic);
      const answer = await works.one(queues, { topic }, { actor: cli.actor });
      const until = answer.heldUntil ? ` until ${shownTime(answer.heldUntil, queues.broker.now())}` : '';
      cli.print({ topic, ...action.became, ...answer }, () => [`Topic '${topic}' is ${action.done}${until}.`]);
    });
  });
}

function onSchedule(parent: CommandUnknownOpts, cli: Cli, action: On<'schedule'>): void {
  const command = parent.command(action.command).argument(...SCHEDULE);
  tell(command, action);
  command.action(async (id) => {
    const works = action.works(await inputOf(command, cli, action));
    await cli.open(async (queues) => {
      const { declared } = await foundSchedule(queues, id);
      if (action.destroys !== undefined) {
        const again = declared ? ' If a @RecurringHandler() declares it still, the next boot stores it again.' : '';
        const what = `This ${action.destroys} schedule '${shown(id)}' for good.${again}`;
        await cli.confirm({ type: id, called: 'the id of the schedule', what, hasDryRun: false });
      }
      const answer = await works.one(queues, { id }, { actor: cli.actor });
      if (answer === false) throw await missingSchedule(queues, id);
      const published = answer === true ? undefined : answer;
      cli.print(published ?? { id, ...action.became }, () => [
        published
          ? `Message '${shown(published.id)}' of topic '${published.topic}' is ${action.done}.`
          : `Schedule '${shown(id)}' is ${action.done}.`,
      ]);
    });
  });
}

const RATE = ['--rate <number>', 'most messages a second; without it as fast as it goes', toNumber] as const;
const DRY_RUN = ['--dry-run', 'count them, and change nothing'] as const;

/** Describes a command, and adds the flags of its inputs. */
function tell(command: CommandUnknownOpts, action: NamedAction): CommandUnknownOpts {
  const name = `${action.target === 'schedule' ? 'schedules ' : ''}${action.command}`;
  const [first, ...others] = action.examples;
  addFlags(command, action.input, action.flags);
  return command
    .summary(action.summary)
    .description(action.description)
    .addHelpText('after', example(`${name} ${first}`, ...others.map((one) => `${name} ${one}`)));
}

/** @throws CliError if the time is missing or given twice */
async function inputOf(
  command: CommandUnknownOpts,
  { terminal }: Cli,
  { input, flags }: NamedAction,
): Promise<Readonly<Record<string, unknown>>> {
  const given = await flagsIn(command, terminal, input, flags);
  if ('deliverAt' in input && (given['delay'] === undefined) === (given['deliverAt'] === undefined)) {
    throw usageError('Give either --delay or --deliver-at.');
  }
  return given;
}

interface Change {
  readonly action: On<'message'> | On<'messages'>;
  readonly works: ReturnType<Change['action']['works']>;
  readonly topic: string;
  readonly ref: MessageRef;
}

const UNCHANGED = {
  'in-flight': 'is in flight',
  dead: "is a dead letter: 'requeue' schedules it again",
} as const;

/** Changes a message, and prints the outcome. */
async function changeOne(cli: Cli, queues: Queues, { action, works, topic, ref }: Change): Promise<void> {
  const result = await works.one(queues, { topic, ref }, { actor: cli.actor });
  const id = typeof ref === 'string' ? ref : ref.id;
  const value = { topic, id, result };
  const stops = action.destroys !== undefined;
  if (result === 'not-found') {
    await cli.assertKnown(queues, topic);
    const that = stops ? ` that could be ${action.done}` : '';
    cli.refuse(value, `Topic '${topic}' has no message '${shown(id)}'${that}.`);
  } else if (result === 'dead' || (result === 'in-flight' && !stops)) {
    cli.refuse(value, `Message '${shown(id)}' ${UNCHANGED[result]}. Nothing was changed.`);
  } else {
    const done = result === 'in-flight' ? 'being handled: its signal is aborted, and it is not retried' : action.done;
    cli.print(value, () => [`Message '${shown(id)}' is ${done}.`]);
  }
}

/** @throws CliError if there is no such schedule */
export async function foundSchedule(queues: Queues, id: string): Promise<Schedule> {
  const schedule = await queues.schedules.get(id);
  if (schedule) return schedule;
  throw await missingSchedule(queues, id);
}

async function missingSchedule(queues: Queues, id: string): Promise<CliError> {
  const known = (await queues.schedules.listKnown()).schedules.map((schedule) => schedule.id);
  return notFound(`There is no schedule '${shown(id)}'.${shown(didYouMean(id, known))}`);
}
