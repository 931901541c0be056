#!/usr/bin/env node
import { EXIT } from './exit-codes.js';
import { run } from './run.js';

// Whoever reads the output may have enough, as `head` does.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit(EXIT.done);
});
// What is said beside the results may be lost; work that has begun goes on to its end.
process.stderr.on('error', () => {});

void run(process.argv.slice(2), process).then((code) => (process.exitCode = code));
