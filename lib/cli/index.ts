#!/usr/bin/env node
import { EXIT } from './exit-codes.js';
import { run } from './run.js';

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // Whoever reads the output may have enough, as `head` does.
  if (error.code === 'EPIPE') process.exit(EXIT.done);
  process.stderr.write(`error: The results cannot be written: ${error.message}\n`);
  process.exit(EXIT.output);
});
// What is said beside the results may be lost; work that has begun goes on to its end.
process.stderr.on('error', () => {});

void run(process.argv.slice(2), process).then((code) => (process.exitCode = code));
