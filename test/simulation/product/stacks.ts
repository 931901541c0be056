/** The name of the script that the product is evaluated as. */
export const PRODUCT_SCRIPT = 'product.cjs';

/**
 * While it runs, the stacks of errors, which the product stores with what has failed, name the product's own calls alone: what is beside
 * that depends on where the simulator lies, and on the version of Node.js.
 */
export async function withProductStacks<T>(run: () => Promise<T>): Promise<T> {
  const errors: { prepareStackTrace?: unknown } = Error;
  const before = errors.prepareStackTrace;
  Error.prepareStackTrace = (error, calls) => {
    // Not every version tells of the calls that have awaited one another.
    const own = calls.filter((call) => call.getFileName() === PRODUCT_SCRIPT && !call.isAsync());
    const lines = own.map((call) => `    at ${call.getFunctionName()} (${PRODUCT_SCRIPT}:${call.getLineNumber()})`);
    return [String(error), ...lines].join('\n');
  };
  try {
    return await run();
  } finally {
    errors.prepareStackTrace = before;
  }
}
