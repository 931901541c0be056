import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/**
 * Returns the carrier of a request and its answer: the connection, or one of its streams under HTTP/2. It is taken from the request, because
 * an answer that is queued behind others on its connection has none yet, and an HTTP/2 answer has a stand-in.
 */
function carrierOf(request: IncomingMessage): Duplex {
  return streamOf(request) ?? request.socket;
}

/** Returns the HTTP/2 stream; `undefined` under HTTP/1. */
function streamOf(request: IncomingMessage): Duplex | undefined {
  return (request as { readonly stream?: Duplex }).stream;
}

/** Callbacks for the end of a carrier: many requests can wait on a connection, and a separate listener for each would count. */
const listeners = new WeakMap<Duplex, Set<() => void>>();

/** Whether the client has gone and nobody can read the answer. */
export function isGone(request: IncomingMessage): boolean {
  return carrierOf(request).destroyed;
}

/**
 * Invokes `call` once the client has gone, at once if it already has.
 *
 * @returns a function that cancels this
 */
export function whenGone(request: IncomingMessage, call: () => void): () => void {
  const carrier = carrierOf(request);
  if (carrier.destroyed) {
    call();
    return () => {};
  }
  const calls = listeners.get(carrier) ?? listenTo(carrier);
  const own = (): void => call();
  calls.add(own);
  return () => calls.delete(own);
}

function listenTo(carrier: Duplex): Set<() => void> {
  const calls = new Set<() => void>();
  listeners.set(carrier, calls);
  carrier.once('close', () => {
    for (const call of calls) call();
  });
  return calls;
}

/** Invokes `call` if the client goes before the operating system has taken the whole answer. */
export function whenLost(request: IncomingMessage, response: ServerResponse, call: () => void): void {
  const carrier = carrierOf(request);
  const end = whenGone(request, call);
  // An HTTP/2 answer always reports that it has finished; its stream does so only if it really has.
  // A failed write finishes the answer as well, on a connection that is gone. Node.js ends a connection in a listener of its own.
  (streamOf(request) ?? response).prependOnceListener('finish', () => {
    if (!carrier.destroyed) end();
  });
}
