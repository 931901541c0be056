import { type ExecFileOptions, execFile } from 'node:child_process';

/**
 * Runs a program to its end.
 *
 * @returns what it wrote to its standard output
 * @throws if it fails; the message has everything that it wrote
 */
export async function runProgram(
  program: string,
  args: readonly string[],
  options: ExecFileOptions = {},
): Promise<string> {
  const settings = { ...options, encoding: 'utf8' as const, maxBuffer: 64 * 1024 * 1024 };
  return new Promise((resolve, reject) => {
    execFile(program, args, settings, (error, stdout, stderr) => {
      if (!error) return resolve(stdout.trim());
      const end = error.signal ? `was ended by ${error.signal}` : `failed with ${error.code}`;
      return reject(new Error(`${program} ${args.join(' ')} ${end}.\n${stdout}\n${stderr}`));
    });
  });
}
