import { randomBytes } from 'node:crypto';

export const PROGRAMS = ['python', 'php', 'go'] as const;

export type ProgramName = (typeof PROGRAMS)[number];

/** Each program has a token of its own, so that one can be replaced without the others. */
export const TOKENS: Readonly<Record<ProgramName, string>> = {
  python: process.env['PYTHON_TOKEN'] ?? newToken(),
  php: process.env['PHP_TOKEN'] ?? newToken(),
  go: process.env['GO_TOKEN'] ?? newToken(),
};

/** What is started here is told its token, so a new one for each run will do. */
function newToken(): string {
  return randomBytes(32).toString('hex');
}
