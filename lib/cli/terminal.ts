import { createInterface } from 'node:readline/promises';

/** Streams that the process reads and writes. */
export interface Terminal {
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Whether there is a user who can be asked. */
export function isInteractive({ stdin, stderr }: Terminal): boolean {
  return stdin.isTTY && stderr.isTTY;
}

/** Asks on the standard error, so that the standard output has only results. Resolves with `undefined` at the end of the input. */
export async function ask({ stdin, stderr }: Terminal, question: string): Promise<string | undefined> {
  const lines = createInterface({ input: stdin, output: stderr });
  const closed = new AbortController();
  lines.once('close', () => closed.abort());
  // Ctrl-C gives no answer, which is no consent.
  lines.once('SIGINT', () => lines.close());
  try {
    return await lines.question(question, { signal: closed.signal });
  } catch (error) {
    if (closed.signal.aborted) return undefined;
    throw error;
  } finally {
    lines.close();
  }
}

/** Reads the whole standard input. */
export async function readInput({ stdin }: Terminal): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stdin) chunks.push(Buffer.from(chunk as string | Buffer));
  return Buffer.concat(chunks);
}
