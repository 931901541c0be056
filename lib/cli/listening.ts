import { usageError } from './cli-error.js';

/**
 * Serves something on an address.
 *
 * @throws CliError if nothing can be served there: another program has the port, or the user is not allowed to use it
 */
export async function listening<T>(
  who: string,
  { host, port }: { readonly host: string; readonly port: number },
  serve: () => Promise<T>,
): Promise<T> {
  try {
    return await serve();
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (syscall === undefined) throw error;
    throw usageError(`The ${who} cannot listen on ${host}, port ${port}: ${code}.`);
  }
}
