import { signal } from '@preact/signals';
import type { AuditedAction } from '../../events/audit-log.js';
import { look } from './api.js';
import { setServerTime } from './format.js';

/** The user, the topics that they see, and their rights. */
export interface Session {
  readonly actor?: string | undefined;
  /** Visible topics, by name or as `prefix*`; `undefined`: all. */
  readonly topics?: readonly string[] | undefined;
  readonly actions: readonly AuditedAction[];
  /** Whether they see the content of messages. */
  readonly payloads: boolean;
  /** Whether parts of payloads can be hidden from them. */
  readonly redacts: boolean;
  readonly version: string;
  readonly traceUrl?: string | undefined;
}

export const session = signal<Session | undefined>(undefined);

/** Whether the user is allowed to do this. The server also refuses the rest by itself. */
export function may(action: AuditedAction): boolean {
  return session.value?.actions.includes(action) ?? false;
}

/** Whether the user is only allowed to look. */
export function onlyLooks(): boolean {
  return session.value?.actions.length === 0;
}

export function seesPayloads(): boolean {
  return session.value?.payloads ?? false;
}

/** Whether many messages can be acted on by their content. The server refuses that if it could reveal hidden parts. */
export function mayActByContent(): boolean {
  return !(session.value?.redacts ?? true);
}

/** Whether the user sees all topics. The doctor needs that: it examines Redis, which all topics share. */
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
