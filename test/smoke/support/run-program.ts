import { type ExecFileOptions, execFile } from 'node:child_process';
import { promisify } from 'node:util';

const execute = promisify(execFile);

/**
 * Runs a program to its end.
 *
 * @returns what it wrote to its standard output
 * @throws where it fails; the message has all that it wrote
 */
export async function runProgram(
  program: string,
  args: readonly string[],
  options: ExecFileOptions = {},
): Promise<string> {
  try {
    const { stdout } = await execute(program, args, { ...options, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
    return stdout.trim();
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    throw new Error([`${program} ${args.join(' ')} failed.`, stdout, stderr].join('\n').trim(), { cause: error });
  }
}
