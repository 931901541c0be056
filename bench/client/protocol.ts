import type { ConsumeOptions, ConsumeResult } from './roles/consume.js';
import type { HoldOptions, HoldResult } from './roles/hold.js';
import type { IdleOptions, IdleResult } from './roles/idle.js';
import type { LoadOptions, LoadResult } from './roles/load.js';
import type { PublishRateOptions, PublishRateResult } from './roles/publish.js';
import type { Contender, ContenderName } from '../contenders/contender.js';

/** What a client process can be told to do, and what it answers. */
export interface Roles {
  publish: { options: PublishRateOptions; result: PublishRateResult };
  load: { options: LoadOptions; result: LoadResult };
  consume: { options: ConsumeOptions; result: ConsumeResult };
  idle: { options: IdleOptions; result: IdleResult };
  hold: { options: HoldOptions; result: HoldResult };
}

export type RoleName = keyof Roles;

/** The argument of a client process, as JSON. */
export interface Order<R extends RoleName = RoleName> {
  readonly contender: ContenderName;
  readonly role: R;
  readonly redisUrl: string;
  readonly options: Roles[R]['options'];
}

/** What a client process tells. */
export type Report =
  | { readonly kind: 'ready' }
  | { readonly kind: 'handled'; readonly count: number }
  | { readonly kind: 'result'; readonly result: Roles[RoleName]['result'] }
  | { readonly kind: 'failed'; readonly reason: string };

/** The one thing that a client process is told: that it has done enough. */
export const FINISH = 'finish';

/** What a role has to work with. */
export interface RoleContext {
  readonly contender: Contender;
  readonly redisUrl: string;
  /** To be called when the preparations are over and what is measured may begin. */
  readonly ready: () => void;
  /** Tells how many messages were handled so far. */
  readonly handled: (count: number) => void;
  /** Resolves when the process has been told to finish. */
  readonly finish: Promise<unknown>;
}
