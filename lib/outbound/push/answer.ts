import type { IncomingMessage } from 'node:http';

/** Most that is kept of an answer, in bytes: enough to see what a server complains about. */
const MAX_KEPT = 1024;

/** Most that is read of an answer only so that its connection can be used again, in bytes. */
const MAX_READ = 65_536;

/** For how long an answer is read, in milliseconds. */
const READING_TIME = 1000;

/** What a server has answered to a push. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  /** The begin of the body; empty if the answer is good, since then nobody looks at it. */
  readonly text: string;
}

/**
 * Reads an answer to its end, and closes the connection if that is far off: once it is read, the server has nothing more to do with the
 * request. Never rejects.
 */
export async function readAnswer(response: IncomingMessage): Promise<Answer> {
  const { statusCode: status = 0, headers } = response;
  const isGood = status >= 200 && status < 300;
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let read = 0;
    const timer = setTimeout(() => response.destroy(), READING_TIME);
    response.on('data', (chunk: Buffer) => {
      read += chunk.length;
      if (!isGood && read - chunk.length < MAX_KEPT) chunks.push(chunk);
      if (read > MAX_READ) response.destroy();
    });
    // The status is what counts: a body that breaks off changes nothing.
    response.on('error', () => {});
    response.on('close', () => {
      clearTimeout(timer);
      resolve({ status, headers, text: new TextDecoder().decode(Buffer.concat(chunks).subarray(0, MAX_KEPT)) });
    });
  });
}
