import type { Cli } from './cli.js';
import type { Program } from './program.js';

/** Adds a command to the program. `commands.ts` lists those of actions, which `acting.ts` makes, and the others, one per file in `commands`. */
export type AddCommand = (program: Program, cli: Cli) => void;

export const TOPIC = ['<topic>', 'name of the topic'] as const;
export const SCHEDULE = ['<schedule>', 'id of the schedule'] as const;
export const ID = ['<id>', 'id of the message'] as const;
export const KEY = ['--key <key>', 'key of the message, if several have its id'] as const;
