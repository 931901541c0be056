import type { Server } from '../redis/server.js';
import type { World } from '../world/world.js';

/** Whoever has a message. */
export interface Holder {
  readonly name: string;
  readonly isDead: boolean;
  readonly isFrozen: boolean;
  /** Until when it stood still last. World time. */
  readonly disturbedAt?: number;
}

/** One call of a handler, or what somebody does who has received a message. */
export interface Run {
  readonly id: string;
  readonly topic: string;
  readonly key: string;
  readonly process: Holder;
  readonly attempt: number;
  readonly signal: AbortSignal;
  /** Which process counts it as being in flight, and until when, if somebody else has the message. */
  readonly permit: { readonly process: Holder; readonly signal: AbortSignal } | undefined;
  /** World time. */
  readonly begunAt: number;
  /** When its lease was last renewed. World time. */
  renewedAt: number;
  isOver: boolean;
  /** Redis has forgotten, or was told by a clock that was set, that the message belongs to it: its process cannot know. */
  isExcused: boolean;
}

/** How late a timer may be, in milliseconds: the signal of a lease that has just ended may be so late, too. */
export const TIMER_ERROR = 3;

/** Whether it does something that nobody else may do now. */
export function isCurrent({ isOver, isExcused, process, signal }: Run): boolean {
  return !isOver && !isExcused && !process.isDead && !process.isFrozen && !signal.aborted;
}

/** Whether Redis has lost a key, or what stands in its hash tag. */
export type IsLost = (key: string) => boolean;

export const ALL_LOST: IsLost = () => true;

/** What rules look at, and whom they tell. */
export interface RuleOptions {
  readonly world: World;
  readonly server: Server;
  readonly violated: (rule: string, text: string, about: readonly string[]) => void;
}
