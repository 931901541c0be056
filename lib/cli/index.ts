#!/usr/bin/env node
import { EXIT } from './exit-codes.js';
import { run } from './run.js';

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // The reader of the output may have enough, as `head` does.
  if (error.code === 'EPIPE') process.exit(EXIT.done);
  process.stderr.write(`error: The results cannot be written: ${error.message}\n`);
  process.exit(EXIT.output);
});
// Notes beside the results may get lost; work that has begun runs to its end.
process.stderr.on('error', () => {});

void run(process.argv.slice(2), process).then((code) => (process.exitCode = code));
