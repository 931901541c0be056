import type { IncomingMessage } from 'node:http';

/** Most that is kept of an answer, in bytes: enough to see what a server complains about. */
const MAX_KEPT = 1024;

/** Most that is read of an answer only so that its connection can be used again, in bytes. */
const MAX_READ = 65_536;

/** For how long it is read, in milliseconds. */
const READING_TIME = 1000;

/** What a server has answered to a push. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  /** The begin of the body; empty if the answer is good, since then nobody looks at it. */
  readonly text: string;
}

/**
 * Reads an answer, as much of it as is of use. Resolves as soon as the answer is known to be good, or its text is long enough; the rest is
 * read up to a bound, or the connection is closed. Never rejects.
 */
export async function readAnswer(response: IncomingMessage): Promise<Answer> {
  const { statusCode: status = 0, headers } = response;
  const isGood = status >= 200 && status < 300;
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let kept = 0;
    let read = 0;
    const known = (): void => {
      const text = new TextDecoder().decode(Buffer.concat(chunks).subarray(0, MAX_KEPT));
      resolve({ status, headers, text: isGood ? '' : text });
    };
    const timer = setTimeout(() => response.destroy(), READING_TIME);
    response.on('data', (chunk: Buffer) => {
      read += chunk.length;
      if (kept < MAX_KEPT) {
        chunks.push(chunk);
        kept += chunk.length;
      }
      if (kept >= MAX_KEPT) known();
      if (read > MAX_READ) response.destroy();
    });
    // The status is what counts: a body that breaks off changes nothing.
    response.on('error', () => {});
    response.on('close', () => {
      clearTimeout(timer);
      known();
    });
    if (isGood) known();
  });
}
