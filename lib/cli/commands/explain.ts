import type { ExplainFacts } from '../../admin/explain.js';
import { type AddCommand, ID, KEY, TOPIC } from '../command.js';
import { EXIT } from '../exit-codes.js';
import { messageName } from '../given-values.js';
import { example } from '../program.js';
import { pairs } from '../table.js';
import { shown, shownLines, shownValue } from '../text.js';
import { shownTime } from '../times.js';

export const explain: AddCommand = (program, cli) => {
  program
    .command('explain')
    .summary('say why a message has not run, or what became of it')
    .description(
      'Says why a message has not run, or what became of it, with the facts and what to do. If several things keep it, the others are told too.',
    )
    .argument(...TOPIC)
    .argument(...ID)
    .option(...KEY)
    .addHelpText('after', example('explain order.timeout 42'))
    .action(async (topic, id, { key }) =>
      cli.open(async ({ admin, broker }) => {
        const explanation = await admin.explain(topic, messageName(id, key));
        const { cause, also, facts, advice } = explanation;
        if (cause === 'unknown-id') cli.exitCode = EXIT.no;
        cli.print(explanation, () => [
          `${cli.paint('yellow', cause)}: ${shownLines(advice)}`,
          ...(also.length > 0 ? [`Then it would still be kept by: ${also.join(', ')}`] : []),
          '',
          ...pairs(factsOf(facts, broker.now()), cli.paint),
        ]);
      }),
    );
};

/** The facts that are known, in the order of the documentation. */
function factsOf(facts: ExplainFacts, now: number): [string, string][] {
  return Object.entries(facts).flatMap(([name, value]: [string, unknown]): [string, string][] => {
    if (value === undefined) return [];
    if (value instanceof Date) return [[name, shownTime(value, now)]];
    return [[name, typeof value === 'string' ? shown(value) : shownValue(value)]];
  });
}
