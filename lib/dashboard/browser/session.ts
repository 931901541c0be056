import { signal } from '@preact/signals';
import type { DashboardUser } from '../access.js';
import { look } from './api.js';
import { setServerTime } from './format.js';

/** Who looks, and at what. */
export interface Session extends DashboardUser {
  readonly version: string;
  readonly traceUrl?: string | undefined;
}

export const session = signal<Session | undefined>(undefined);

/** Whether the user may change something. */
export function mayOperate(): boolean {
  return session.value?.right === 'operate';
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
