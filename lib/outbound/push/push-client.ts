import http, { type ClientRequest, type IncomingMessage } from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import { PushFailedError } from '../../errors/outbound.errors.js';
import { describeDuration } from '../../time/duration.js';
import { type Answer, readAnswer } from './answer.js';
import { publicLookup } from './public-lookup.js';
import { type PushTarget, nameOf } from './push-target.js';

/** How long a connection that nobody uses is kept, in milliseconds. */
const KEPT_OPEN = 15_000;

export interface PushRequest {
  readonly headers: Readonly<Record<string, string | number>>;
  readonly body: string;
  /** Ends the request. */
  readonly signal: AbortSignal;
}

/** Sends requests to one URL, and keeps its connections. It follows no redirects and uses no proxy. */
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
    const { signal } = request;
    // The caller may have given up before this was called.
    signal.throwIfAborted();
    const ending = new AbortController();
    const onAbort = (): void => ending.abort(signal.reason);
    const timer = setTimeout(() => ending.abort(this.#late('has not answered', timeout)), timeout);
    signal.addEventListener('abort', onAbort);
    try {
      return await this.#send(request, ending);
    } catch (error) {
      if (ending.signal.aborted) throw ending.signal.reason as Error;
      throw new PushFailedError(`The ${nameOf(this.#target)} has failed: ${textOf(error)}`, undefined, {
        cause: error,
      });
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
    }
  }

  close(): void {
    this.#agent.destroy();
  }

  /** A connection that was kept may have been closed by the server when the request was on its way: a new one is tried then. */
  async #send(request: PushRequest, ending: AbortController): Promise<Answer> {
    const sent = this.#start(request, ending);
    try {
      return await answerOf(sent);
    } catch (error) {
      if (!sent.reusedSocket || ending.signal.aborted || !isReset(error)) throw error;
      return answerOf(this.#start(request, ending, false));
    }
  }

  #start({ headers, body }: PushRequest, ending: AbortController, reuses = true): ClientRequest {
    const { url, allowPrivate } = this.#target;
    const request = (this.#isSecure ? https : http).request(url, {
      method: 'POST',
      headers,
      agent: reuses ? this.#agent : false,
      signal: ending.signal,
      ...(!allowPrivate && { lookup: publicLookup }),
    });
    request.once('socket', (socket) => this.#watchConnect(socket, ending));
    request.end(body);
    return request;
  }

  #watchConnect(socket: Socket, ending: AbortController): void {
    if (!socket.connecting) return;
    const { connectTimeout } = this.#target;
    const timer = setTimeout(
      () => ending.abort(this.#late('has not accepted a connection', connectTimeout)),
      connectTimeout,
    );
    const end = (): void => clearTimeout(timer);
    socket.once(this.#isSecure ? 'secureConnect' : 'connect', end);
    socket.once('close', end);
  }

  #late(what: string, timeout: number): PushFailedError {
    return new PushFailedError(
      `The ${nameOf(this.#target)} has failed: the server ${what} within ${describeDuration(timeout)}.`,
    );
  }
}

async function answerOf(request: ClientRequest): Promise<Answer> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request.once('response', resolve);
    // Also what comes after the answer, which then changes nothing.
    request.on('error', reject);
    // Such as after an answer that asks for another protocol, which is no error to Node.
    request.once('close', () => reject(new Error('the connection was closed')));
  });
  return readAnswer(response);
}

function isReset(error: unknown): boolean {
  return ['ECONNRESET', 'EPIPE'].includes(String((error as NodeJS.ErrnoException).code));
}

/** Several addresses fail with several errors, and none of them as the text of their sum. */
function textOf(error: unknown): string {
  const { errors, message, code } = error as Partial<AggregateError> & NodeJS.ErrnoException;
  if (Array.isArray(errors) && errors.length > 0) return errors.map(textOf).join('; ');
  return message === '' ? String(code) : message;
}
