import { signal } from '@preact/signals';
import type { Json } from './json.js';

/** What the server has refused, or could not be asked. */
export class ApiError extends Error {
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

/** What stands for the answer of something before the dashboard, such as the login page of its application. */
export const SESSION_OVER = 'SESSION_OVER';

/** Whether the last question was answered by something before the dashboard. */
export const isSessionOver = signal(false);

/** An answer, and when it was looked at, in epoch milliseconds by the clock of this browser. */
export interface Seen<T> {
  readonly answer: Json<T>;
  readonly at: number;
}

/** @throws ApiError, also when the signal ends it */
export async function ask<T>(path: string, init: RequestInit = {}): Promise<Seen<T>> {
  let response: Response;
  try {
    // The dashboard itself sends nobody elsewhere; where a login page is, the policy of this page would not let it look.
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

/** What was answered by a guard, a login page or a proxy: as nothing else, the dashboard itself answers as JSON with a code. */
function refusalBefore({ ok, type, status, statusText }: Response): ApiError {
  const isOver = ok || type === 'opaqueredirect' || status === 401 || status === 403;
  return isOver ? new ApiError(SESSION_OVER, '') : new ApiError(String(status), statusText);
}
