import { signal } from '@preact/signals';
import type { Json } from './json.js';

/** A request that the server refused, or that did not reach it. */
export class ApiError extends Error {
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

/** Code for an answer from something in front of the dashboard, such as the login page of its application. */
export const SESSION_OVER = 'SESSION_OVER';

/** Whether something in front of the dashboard answered the last request. */
export const isSessionOver = signal(false);

/** An answer, and the time of its look, in epoch milliseconds by the clock of this browser. */
export interface Seen<T> {
  readonly answer: Json<T>;
  readonly at: number;
}

/** @throws ApiError, also when the signal ends it */
export async function ask<T>(path: string, init: RequestInit = {}): Promise<Seen<T>> {
  let response: Response;
  try {
    // The dashboard itself never redirects, and the policy of this page would not let it follow a redirect to a login page.
    response = await fetch(path, { ...init, redirect: 'manual' });
  } catch {
    throw new ApiError('UNREACHABLE', '');
  }
  const answer: unknown = await response.json().catch(() => undefined);
  const isAnswer = response.ok && typeof answer === 'object' && answer !== null;
  const refusal = isAnswer ? undefined : (refusalIn(answer) ?? refusalBefore(response));
  isSessionOver.value = refusal?.code === SESSION_OVER;
  if (refusal) throw refusal;
  return { answer: answer as Json<T>, at: Date.now() - Number(response.headers.get('age')) * 1000 };
}

function refusalIn(answer: unknown): ApiError | undefined {
  const { error } = (answer ?? {}) as { error?: { code?: unknown; message?: unknown } };
  return typeof error?.code === 'string' ? new ApiError(error.code, String(error.message)) : undefined;
}

/** Returns the error for an answer of a guard, a login page or a proxy: only the dashboard itself answers with JSON that has a code. */
function refusalBefore({ ok, type, status, statusText }: Response): ApiError {
  const isOver = ok || type === 'opaqueredirect' || status === 401 || status === 403;
  return isOver ? new ApiError(SESSION_OVER, '') : new ApiError(String(status), statusText);
}
