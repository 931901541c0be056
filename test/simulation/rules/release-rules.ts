import type { Process } from '../fleet/process.js';
import type { WatchedCall } from './owner-rules.js';
import type { RuleOptions } from './run.js';

/** Who has released a partition never owns it again under the same epoch, whatever copies of its calls come later. */
export class ReleaseRules {
  readonly #options: RuleOptions;
  readonly #released = new Set<string>();

  constructor(options: RuleOptions) {
    this.#options = options;
  }

  ran(process: Process, { name, place, given }: WatchedCall, reply: unknown): void {
    if (name === 'release') this.#released.add((given as { readonly given_up: string }).given_up);
    if (name !== 'acquire' || !Array.isArray(reply) || reply[0] !== 1) return;
    const { new_owner: owner } = given as { readonly new_owner: string };
    if (!this.#released.has(owner)) return;
    const { owner: key } = place as { readonly owner: string };
    this.#options.violated('released', `${key} is taken as ${owner}, who has released it`, [key, process.name]);
  }

  /** Redis has forgotten what was released. */
  redisLost(): void {
    this.#released.clear();
  }
}
