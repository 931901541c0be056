import { fromStoredId } from '../../../lib/messages/stored-id.js';
import { TOPICS } from '../fleet/topics.js';
import type { Calm } from './calm.js';
import type { RuleOptions } from './run.js';
import type { Claim, ServerListener } from './server-calls.js';

/** Until a process knows what is due in a partition of its own while all is well, in milliseconds. */
const KNOWN = 2000;

export interface TurnRuleOptions extends RuleOptions {
  readonly calm: Calm;
}

/** Of the topics of one handler, a process takes nothing of a later one while something of an earlier one is due. */
export class TurnRules implements ServerListener {
  readonly #options: TurnRuleOptions;

  constructor(options: TurnRuleOptions) {
    this.#options = options;
  }

  claimed({ topic, id, process, call }: Claim): void {
    const { world, server, calm, violated } = this.#options;
    if (topic !== 'second' || !calm.since(world.now)) return;
    const session = sessionOf((call.given as { claimant: string }).claimant);
    for (let index = 0; index < (TOPICS['first']?.options.partitions ?? 0); index++) {
      const tag = `{dq:first:${index}}`;
      if (sessionOf(server.data.call('GET', `${tag}:owner`) as string | null) !== session) continue;
      const isHeld = server.data.call('HMGET', `${tag}:meta`, 'paused', 'held') as unknown[];
      if (isHeld.some((one) => one !== null)) continue;
      const until = String(server.now() - KNOWN);
      const [due] = server.data.call('ZRANGEBYSCORE', `${tag}:scheduled`, '-inf', until, 'LIMIT', '0', '1') as string[];
      if (due === undefined) continue;
      violated('turn', `${process.name} takes ${id}, although ${fromStoredId(due).id} is due, which comes first`, [
        id,
        process.name,
      ]);
    }
  }
}

/** Of an owner as it is stored. */
function sessionOf(owner: string | null): string | undefined {
  return owner?.split(' ')[1];
}
