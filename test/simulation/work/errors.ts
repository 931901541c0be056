/** Whether Redis did not serve a call, which may have been run all the same. */
export function isUnavailable(error: unknown): boolean {
  return (error as { code?: unknown }).code === 'BROKER_UNAVAILABLE';
}

export function isTransient(error: unknown): boolean {
  return isUnavailable(error) && (error as { transient: boolean }).transient;
}

/** Whether a topic speaks a protocol that a build does not know. */
export function isForeign(error: unknown): boolean {
  const { code, message } = error as { code?: unknown; message: string };
  return code === 'CONFIGURATION' && message.includes('protocol version');
}

/** Whether another program has written over what was to be changed. */
export function isUnreadable(error: unknown): boolean {
  return (error as { code?: unknown }).code === 'SERIALIZATION';
}

/** @returns whether Redis has served it, for sure */
export async function served(action: () => Promise<void>): Promise<boolean> {
  try {
    await action();
    return true;
  } catch (error) {
    if (!isUnavailable(error)) throw error;
    return false;
  }
}
