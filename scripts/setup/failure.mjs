import { constants } from 'node:os';

/** The user has to fix something outside the scripts. The message says what, so no stack is shown. */
export class SetupFailure extends Error {}

/** This process was asked to stop. */
export class Interruption extends Error {
  /** @param {NodeJS.Signals} signal */
  constructor(signal) {
    super(`Stopped by ${signal}.`);
    this.exitCode = exitCodeOf(signal);
  }
}

/** The shells' convention for a process that a signal has ended. */
export function exitCodeOf(signal) {
  return 128 + constants.signals[signal];
}

/** Runs a script's main function, which resolves with the exit code. */
export async function runScript(main) {
  try {
    process.exitCode = await main();
  } catch (error) {
    const expected = error instanceof SetupFailure || error instanceof Interruption;
    console.error(expected ? `\n${error.message}` : error);
    process.exitCode = error.exitCode ?? 1;
  }
}
