import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/**
 * What carries a request and its answer: the connection, or one stream of it under HTTP/2. It is asked of the request, since an answer that
 * is queued behind others on its connection has none yet, and one of HTTP/2 has a stand-in.
 */
function carrierOf(request: IncomingMessage): Duplex {
  return streamOf(request) ?? request.socket;
}

/** The stream of HTTP/2; `undefined` under HTTP/1. */
function streamOf(request: IncomingMessage): Duplex | undefined {
  return (request as { readonly stream?: Duplex }).stream;
}

/** Who is to be told when a carrier ends: many requests may wait on a connection, and each listener of its own would count. */
const listeners = new WeakMap<Duplex, Set<() => void>>();

/** Whether nobody is there any more to read the answer. */
export function isGone(request: IncomingMessage): boolean {
  return carrierOf(request).destroyed;
}

/**
 * Calls once nobody is there any more, at once if that is so already.
 *
 * @returns what ends that
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

/** Calls if nobody is there any more before the system has taken all of an answer. */
export function whenLost(request: IncomingMessage, response: ServerResponse, call: () => void): void {
  const carrier = carrierOf(request);
  const end = whenGone(request, call);
  // An answer of HTTP/2 says that it has finished whatever has become of it, its stream only if it has.
  // A write that fails finishes the answer as well, on a connection that is gone. Node.js ends a connection in a listener of its own.
  (streamOf(request) ?? response).prependOnceListener('finish', () => {
    if (!carrier.destroyed) end();
  });
}
