import { signal } from '@preact/signals';
import type { AuditedAction } from '../../events/audit-log.js';
import { look } from './api.js';
import { setServerTime } from './format.js';

/** Who looks, at what, and what they may do. */
export interface Session {
  readonly actor?: string | undefined;
  /** The topics that they see, by name or as `prefix*`; `undefined`: all. */
  readonly topics?: readonly string[] | undefined;
  readonly actions: readonly AuditedAction[];
  /** Whether they see what is in messages. */
  readonly payloads: boolean;
  /** Whether parts of payloads may be hidden from them. */
  readonly redacts: boolean;
  readonly version: string;
  readonly traceUrl?: string | undefined;
}

export const session = signal<Session | undefined>(undefined);

/** Whether the user may do this. The server refuses the rest all the same. */
export function may(action: AuditedAction): boolean {
  return session.value?.actions.includes(action) ?? false;
}

/** Whether the user may do nothing but look. */
export function onlyLooks(): boolean {
  return session.value?.actions.length === 0;
}

export function seesPayloads(): boolean {
  return session.value?.payloads ?? false;
}

/** Whether many messages may be acted on by what is in them. The server refuses it if what is hidden could be told by that. */
export function mayActByContent(): boolean {
  return !(session.value?.redacts ?? true);
}

/** The doctor speaks of Redis, which all topics share. */
export function seesAllTopics(): boolean {
  return session.value !== undefined && session.value.topics === undefined;
}

/** @throws ApiError */
export async function openSession(): Promise<void> {
  session.value = await look<Session>('api/session');
}

/** @throws ApiError if Redis, whose clock it is, does not answer */
export async function setClock(): Promise<void> {
  const { at } = await look<{ at: Date }>('api/clock');
  setServerTime(at);
}
