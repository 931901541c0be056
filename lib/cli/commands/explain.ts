import type { ExplainCause, ExplainFacts } from '../../admin/index.js';
import { summaryOf } from '../../messages/failure.js';
import { type AddCommand, ID, KEY, TOPIC } from '../command.js';
import { commandsFor } from '../commands-for-cause.js';
import { EXIT } from '../exit-codes.js';
import { messageRef } from '../given-values.js';
import { example } from '../program.js';
import { type Pair, pairs } from '../table.js';
import { shown, shownNumber, told } from '../text.js';
import { relative, shownTime } from '../times.js';

/** Meaning of each cause, in words. */
const MEANING: Readonly<Record<ExplainCause, string>> = {
  'unknown-id': 'there is no such message',
  finished: 'it has ended',
  dead: 'it is a dead letter',
  running: 'a process has it, and its lease has not ended',
  retrying: 'an attempt has failed, and it waits for the next one',
  'not-due': 'its time has not come',
  paused: 'its topic is paused',
  'no-consumer': 'no process handles its topic, and nobody receives it',
  'no-owner': 'no process owns its partition',
  'owner-silent': 'the owner of its partition sends no heartbeats',
  'blocked-by-key': 'another message of its key comes first',
  'rate-limited': 'as many have begun as a rate limit allows, or its topic is held',
  'max-in-flight': 'as many are in flight as a limit allows',
  starved: 'the owner of its partition is too late for what the limits permit',
  behind: 'it is in line to be handed out',
};

export const explain: AddCommand = (program, cli) => {
  program
    .command('explain')
    .summary('say why a message has not run, or what became of it')
    .description(
      'Says why a message has not run, or what became of it: the cause, what else would keep it, what to do, and the facts. ' +
        'It ends with 1 if there is no such message.',
    )
    .argument(...TOPIC)
    .argument(...ID)
    .option(...KEY)
    .addHelpText('after', example('explain order.timeout 42'))
    .action(async (topic, id, { key }) =>
      cli.open(async ({ admin, broker }) => {
        const explanation = await admin.explain(topic, messageRef(id, key));
        const { cause, also, facts, advice } = explanation;
        if (cause === 'unknown-id') cli.exitCode = EXIT.no;
        const now = facts.at?.getTime() ?? broker.now();
        cli.print(explanation, () => [
          ...pairs(
            [
              ['cause', cli.paint('yellow', meaningOf(cause))],
              ...timesOf(facts, now),
              ...also.map((one): Pair => ['also', meaningOf(one)]),
              ['advice', shown(advice)],
              ...commandsFor(cause, facts).map((command): Pair => ['command', `npx nestjs-delay-queue ${command}`]),
            ],
            cli.paint,
          ),
          '',
          ...pairs(factsOf(facts, now), cli.paint),
        ]);
      }),
    );
};

function meaningOf(cause: ExplainCause): string {
  return `${cause}: ${MEANING[cause]}`;
}

/** Returns the times since when or until when it is in its state. */
function timesOf({ state, dueAt, leaseEndsAt, diedAt, finishedAt }: ExplainFacts, now: number): Pair[] {
  const time = (at: Date): string => shownTime(at, now);
  const isOverdue = dueAt !== undefined && dueAt.getTime() <= now;
  return [
    [state === 'in-flight' ? 'was due' : isOverdue ? 'overdue since' : 'due', told(dueAt, time)],
    [leaseEndsAt && leaseEndsAt.getTime() <= now ? 'lease ended' : 'lease ends', told(leaseEndsAt, time)],
    ['dead since', told(diedAt, time)],
    ['ended', told(finishedAt, time)],
  ];
}

/** Returns the other known facts. */
function factsOf(facts: ExplainFacts, now: number): Pair[] {
  const time = (at: Date | undefined): string | undefined => told(at, (known) => shownTime(known, now));
  const { topic, id, key, partition, state, outcome, failure, handlers, ownerAlive, ownerBusy, paused } = facts;
  return [
    ['message', shown(key === undefined || key === id ? id : `${id}, key ${key}`)],
    ['topic', partition === undefined ? topic : `${topic}, partition ${partition}`],
    ['state', outcome === undefined ? state : `${state}: ${outcome}`],
    ['published', time(facts.publishedAt)],
    ['expires', time(facts.expiresAt)],
    ['marked', facts.mark],
    ['deliveries', told(facts.deliveries, shownNumber)],
    ['attempts', told(facts.attempts, shownNumber)],
    ['crashes', facts.crashes === 0 ? undefined : told(facts.crashes, shownNumber)],
    ['failure', told(failure, (known) => shown(`${known.reason}: ${summaryOf(known)}`))],
    ['runner', told(facts.runner, shown)],
    ['before it', told(facts.before, shownNumber)],
    ['blocked by', told(facts.blockedBy, shown)],
    ['paused', told(paused, (is) => (is ? 'yes' : 'no'))],
    ['held until', time(facts.heldUntil)],
    ['limit', facts.limit],
    ['handlers', handlers.length === 0 ? 'none' : shown(handlers.join(', '))],
    ...facts.receivers.map(({ consumer, state: is, holding, waiting, seenAt }): Pair => [
      'receiver',
      `${shown(consumer)}: ${is}, has ${shownNumber(holding)}, ${waiting > 0 ? 'waits' : `asked ${relative(seenAt, now)}`}`,
    ]),
    ['owner', told(facts.owner, (owner) => `${shown(owner)}${ownerAlive ? '' : ', silent'}`)],
    ['owner busy', told(ownerBusy, (busy) => `${busy} of ${facts.ownerConcurrency}`)],
  ];
}
