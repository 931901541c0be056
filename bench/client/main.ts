// Each measurement has its own process: it uses one contender in one role, reports its result, and ends.
import { once } from 'node:events';
import { loadContender } from '../contenders/index.js';
import type { Order, Report, RoleName, Roles } from './protocol.js';
import type { RoleContext } from './role-context.js';
import { consume } from './roles/consume.js';
import { hold } from './roles/hold.js';
import { idle } from './roles/idle.js';
import { load } from './roles/load.js';
import { publish } from './roles/publish.js';

type Role<R extends RoleName> = (context: RoleContext, options: Roles[R]['options']) => Promise<Roles[R]['result']>;

const ROLES: { readonly [R in RoleName]: Role<R> } = { publish, load, consume, idle, hold };

// The parent process has died.
process.on('disconnect', () => process.exit(1));

const order = JSON.parse(process.argv[2] ?? '{}') as Order;
await play(order).then(
  (result) => end({ kind: 'result', result }, 0),
  (error: unknown) => end({ kind: 'failed', reason: reasonOf(error) }, 1),
);

async function play<R extends RoleName>({ contender, role, redisUrl, options }: Order<R>): Promise<Roles[R]['result']> {
  const context: RoleContext = {
    contender: await loadContender(contender),
    redisUrl,
    ready: () => tell({ kind: 'ready' }),
    handled: (count) => tell({ kind: 'handled', count }),
    finish: once(process, 'message'),
  };
  return ROLES[role](context, options);
}

function tell(report: Report): void {
  process.send?.(report);
}

/** Ends at once: the contender's connections and timers no longer matter. */
function end(report: Report, code: number): void {
  process.send?.(report, () => process.exit(code));
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
