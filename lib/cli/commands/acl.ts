import { Argument } from '@commander-js/extra-typings';
import { ROLES, aclRule, commandsOf } from '../../engines/redis/scripts/rights.js';
import { assertName } from '../../messages/topic.js';
import type { AddCommand } from '../command.js';
import { example } from '../program.js';

/** Purpose of each role, in words. */
const PURPOSE = {
  producer: 'publishes, cancels and reschedules',
  consumer: 'handles messages, and publishes',
  operator: 'looks and acts, by this command line or the admin',
} as const;

export const acl: AddCommand = (program, cli) => {
  program
    .command('acl')
    .summary('print the least rights of users of Redis')
    .description(
      'Prints what gives a user of Redis the least rights that a producer, a consumer or an operator needs. Nothing is sent to ' +
        'Redis. The line says no password: add >password, or use ACL SETUSER again.',
    )
    .addArgument(new Argument('[role]', 'which of them; default: all').choices(ROLES))
    .option('--user <name>', 'name of the user; default: that of the role')
    .option('--cluster', 'for a Redis Cluster, of Redis 7 or newer')
    .addHelpText('after', example('acl', 'acl producer --user shop --prefix dq'))
    .action((given, { user, cluster = false }) => {
      const { prefix } = cli;
      assertName('prefix', prefix);
      if (user !== undefined) assertName('user', user);
      const roles = (given === undefined ? ROLES : [given]).map((role) => ({
        role,
        rule: aclRule(role, { user: user ?? role, prefix, cluster }),
        commands: commandsOf(role, { cluster }),
      }));
      cli.print({ prefix, roles }, () => {
        const lines = roles.flatMap(({ role, rule }) => [cli.paint('dim', `# ${role}: ${PURPOSE[role]}`), rule, '']);
        return lines.slice(0, -1);
      });
    });
};
