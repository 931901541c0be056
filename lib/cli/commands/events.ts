import { filter, fromEvent, take, takeUntil } from 'rxjs';
import type { FleetEvent } from '../../admin/index.js';
import type { Cli } from '../cli.js';
import { usageError } from '../cli-error.js';
import type { AddCommand } from '../command.js';
import { toNumber } from '../given-values.js';
import { example } from '../program.js';
import { shown, shownCount } from '../text.js';
import { shownDuration } from '../times.js';

export const events: AddCommand = (program, cli) => {
  program
    .command('events')
    .summary('follow what the processes do')
    .description(
      "Prints what the processes of the fleet do, as it comes, until Ctrl-C. Only processes with the module's option " +
        'fleetEvents tell of it. With --json: a line of JSON for each event.',
    )
    .argument('[topic]', 'only this topic')
    .option('--follow', 'go on until Ctrl-C')
    .option('--kind <kinds...>', 'only these kinds, such as dead and retried')
    .option('--id <id>', 'only this message')
    .option('--count <number>', 'stop after this many events', toNumber)
    .addHelpText('after', example('events order.timeout --follow --kind dead retried'))
    .action(async (topic, { follow = false, kind, id, count = Infinity }) => {
      if (!follow) throw usageError('Only events that come are there to be read: give --follow.');
      const isWanted = (event: FleetEvent): boolean =>
        event.kind === 'gap' ||
        ((topic === undefined || event.topic === topic) &&
          (kind === undefined || kind.includes(event.kind)) &&
          (id === undefined || ('id' in event && event.id === id)));
      await cli.open(async ({ events: { fleet } }) =>
        cli.interruptible(async (ended) => {
          if (!cli.isJson) cli.note('Following the processes that have the option fleetEvents. Ctrl-C ends it.');
          const wanted = fleet.pipe(filter(isWanted), take(count), takeUntil(fromEvent(ended, 'abort')));
          await wanted.forEach((event) => cli.print(event, () => [lineOf(event, cli)]));
        }),
      );
    });
};

function lineOf(event: FleetEvent, { paint }: Cli): string {
  if (event.kind === 'gap') {
    const who = event.process === undefined ? '' : ` of ${shown(event.process)}`;
    return paint('yellow', `${event.missed} events${who} are missing here`);
  }
  const { at, kind, topic, partition, process } = event;
  const message = 'id' in event ? ` '${event.id}'` : '';
  const line = shown(`${at.toISOString()} ${kind.padEnd(9)} ${topic}${message}`);
  return `${line} ${paint('dim', shown(`partition ${partition}, ${process}`))}${shown(detailsOf(event))}`;
}

function detailsOf(event: Exclude<FleetEvent, { kind: 'gap' }>): string {
  switch (event.kind) {
    case 'published':
      return `, due ${event.dueAt.toISOString()}`;
    case 'delivered':
      return `, attempt ${event.attempt}, ${event.lateness.toFixed(1)} ms late`;
    case 'retried':
      return `, again in ${shownDuration(event.delay)}: ${event.error.name}: ${event.error.message}`;
    case 'dead':
      return `, ${event.failure.reason}: ${event.failure.name}: ${event.failure.message}`;
    case 'missed':
      return `, schedule '${event.schedule}': ${shownCount(event.occurrences, 'occurrence')} (${event.reason})`;
    case 'ownership':
      return event.owned ? ', taken' : ', given up';
    default:
      return `, attempt ${event.attempt}`;
  }
}
