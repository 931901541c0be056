import type { ConsumeOptions, ConsumeResult } from './roles/consume.js';
import type { HoldOptions, HoldResult } from './roles/hold.js';
import type { IdleOptions, IdleResult } from './roles/idle.js';
import type { LoadOptions, LoadResult } from './roles/load.js';
import type { PublishRateOptions, PublishRateResult } from './roles/publish.js';
import type { ContenderName } from '../contenders/contender.js';

/** The roles of a client process, with their options and results. */
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

/** The messages that a client process sends. */
export type Report =
  | { readonly kind: 'ready' }
  | { readonly kind: 'handled'; readonly count: number }
  | { readonly kind: 'result'; readonly result: Roles[RoleName]['result'] }
  | { readonly kind: 'failed'; readonly reason: string };

/** The only message to a client process: it shall finish. */
export const FINISH = 'finish';
