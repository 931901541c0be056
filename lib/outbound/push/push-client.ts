import http, { type ClientRequest, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import https from 'node:https';
import { PushFailedError } from '../../errors/handling.errors.js';
import { describeDuration } from '../../time/duration.js';
import { publicLookup } from './public-addresses.js';
import { nameOf, type PushTarget } from './push-target.js';

/** Most of an answer that is kept, in bytes: enough to see what a server complains about. */
const MAX_KEPT = 1024;

/** Most of an answer that is read, in bytes, only so that its connection can be reused. */
const MAX_READ = 65_536;

/** Time limit for reading an answer, in milliseconds. */
const READING_TIME = 1000;

/** A server's answer to a push. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  /** Start of the body; empty if the answer is good, since nobody reads it then. */
  readonly text: string;
}

/**
 * Reads an answer to its end, or closes the connection if that is far off: once it is read, the server is done with the request. Never
 * rejects.
 */
async function readAnswer(response: IncomingMessage): Promise<Answer> {
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
    // Only the status counts: a body that breaks off changes nothing.
    response.on('error', () => {});
    response.on('close', () => {
      clearTimeout(timer);
      resolve({ status, headers, text: new TextDecoder().decode(Buffer.concat(chunks).subarray(0, MAX_KEPT)) });
    });
  });
}

/** Time for which an idle connection is kept, in milliseconds. */
const KEPT_OPEN = 15_000;

interface PushRequest {
  readonly headers: OutgoingHttpHeaders;
  readonly body: string;
  /** Ends the request. */
  readonly signal: AbortSignal;
}

/** Sends requests to one URL, and keeps its connections alive. It follows no redirects and uses no proxy. */
export class PushClient {
  readonly #target: PushTarget;
  readonly #agent: http.Agent;
  readonly #isSecure: boolean;

  constructor(target: PushTarget) {
    this.#target = target;
    this.#isSecure = target.url.protocol === 'https:';
    const options = { keepAlive: true, timeout: KEPT_OPEN, maxFreeSockets: target.concurrency };
    this.#agent = this.#isSecure ? new https.Agent(options) : new http.Agent(options);
  }

  /**
   * @throws PushFailedError if there was no answer in time, or none at all
   * @throws the reason of the signal if it has aborted
   */
  async post(request: PushRequest): Promise<Answer> {
    const { timeout } = this.#target;
    const late = new PushFailedError(
      `The ${nameOf(this.#target)} has failed: the server has not answered within ${describeDuration(timeout)}.`,
    );
    const inTime = new AbortController();
    const timer = setTimeout(() => inTime.abort(late), timeout);
    const signal = AbortSignal.any([request.signal, inTime.signal]);
    try {
      // The caller may have given up before this was called.
      signal.throwIfAborted();
      return await this.#send(request, signal);
    } catch (error) {
      if (signal.aborted) throw signal.reason as Error;
      throw new PushFailedError(`The ${nameOf(this.#target)} has failed: ${textOf(error)}`, undefined, {
        cause: error,
      });
    } finally {
      clearTimeout(timer);
    }
  }

  close(): void {
    this.#agent.destroy();
  }

  /** Sends a request. The server may have closed a kept connection while the request was on its way: then a new one is tried. */
  async #send(request: PushRequest, signal: AbortSignal): Promise<Answer> {
    const sent = this.#start(request, signal, this.#agent);
    try {
      return await answerOf(sent);
    } catch (error) {
      if (!sent.reusedSocket || signal.aborted || !isReset(error)) throw error;
      return answerOf(this.#start(request, signal, false));
    }
  }

  #start({ headers, body }: PushRequest, signal: AbortSignal, agent: http.Agent | false): ClientRequest {
    const { url, allowPrivate } = this.#target;
    const request = (this.#isSecure ? https : http).request(url, {
      method: 'POST',
      headers,
      agent,
      signal,
      ...(!allowPrivate && { lookup: publicLookup }),
    });
    request.end(body);
    return request;
  }
}

async function answerOf(request: ClientRequest): Promise<Answer> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request.once('response', resolve);
    // Also errors after the answer, which change nothing then.
    request.on('error', reject);
    // For example after an answer that asks for another protocol, which Node does not treat as an error.
    request.once('close', () => reject(new Error('the connection was closed')));
  });
  return readAnswer(response);
}

function isReset(error: unknown): boolean {
  return ['ECONNRESET', 'EPIPE'].includes(String((error as NodeJS.ErrnoException).code));
}

/** Several addresses fail with several errors, and the aggregate error has none of their texts. */
function textOf(error: unknown): string {
  const { errors, message, code } = error as Partial<AggregateError> & NodeJS.ErrnoException;
  if (Array.isArray(errors) && errors.length > 0) return errors.map(textOf).join('; ');
  return message === '' ? String(code) : message;
}
