import type { IncomingMessage, ServerResponse } from 'node:http';
import { whenGone } from '../http/carrier.js';
import { Refusal } from '../http/refusal.js';

/** Time between two signs of life, in milliseconds: proxies close a connection that is silent for long. */
const PULSE = 15_000;

/** Time after which the browser has to reconnect, in milliseconds, so that a revoked right ends. */
const LONGEST = 5 * 60_000;

/** Most bytes that wait for a slow browser. */
const MAX_WAITING = 1024 * 1024;

/** Server-sent events to one browser, until either side ends it. */
export interface EventStream {
  /** Whether the browser reads too slowly for more. */
  readonly isFull: boolean;
  /** Aborted once it has ended. */
  readonly ended: AbortSignal;
  send(data: string): void;
}

/** The open streams. */
export class EventStreams {
  readonly #open = new Set<() => void>();
  #isClosed = false;

  /** @throws Refusal if this process is shutting down */
  open(request: IncomingMessage, response: ServerResponse): EventStream {
    if (this.#isClosed) throw new Refusal(503, 'SHUTTING_DOWN', 'This process is shutting down.');
    response.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no',
    });
    response.write('retry: 2000\n\n');
    const ended = new AbortController();
    const pulse = setInterval(() => response.write(':\n\n'), PULSE);
    const longest = setTimeout(() => end(), LONGEST);
    let forget: (() => void) | undefined;
    const end = (): void => {
      forget?.();
      clearInterval(pulse);
      clearTimeout(longest);
      this.#open.delete(end);
      ended.abort();
      response.end();
    };
    this.#open.add(end);
    forget = whenGone(request, end);
    return {
      get isFull() {
        return response.writableLength > MAX_WAITING;
      },
      ended: ended.signal,
      send: (data) => {
        if (!ended.signal.aborted) response.write(`data: ${data}\n\n`);
      },
    };
  }

  /** Ends all of them; no more can be opened. */
  close(): void {
    this.#isClosed = true;
    for (const end of this.#open) end();
  }
}
