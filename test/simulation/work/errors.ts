/** Whether Redis did not serve a call, which may have been run all the same. */
export function isUnavailable(error: unknown): boolean {
  return (error as { code?: unknown }).code === 'BROKER_UNAVAILABLE';
}

export function isTransient(error: unknown): boolean {
  return isUnavailable(error) && (error as { transient: boolean }).transient;
}
