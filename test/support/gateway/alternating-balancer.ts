import type { Gateway } from './gateway.js';
import { giveBack, passOn, startHttpProxy } from './http-proxy.js';

/** Names whoever sends a request to the balancer. */
export const WORKER_HEADER = 'x-worker';

/** What the balancer answers if a gateway is not there, and if it has gone while it had the request. */
export const [NOT_THERE, GONE] = [503, 504];

export interface AlternatingBalancer extends Gateway {
  /** May be replaced: who was started again has another port. */
  readonly gateways: [URL, URL];
}

/**
 * Starts a balancer before two gateways that sends each request of a worker to the other one than the request before: what one has handed out is
 * settled at the other. Every second worker begins at the second.
 */
export async function startAlternatingBalancer(first: string, second: string): Promise<AlternatingBalancer> {
  const gateways: [URL, URL] = [new URL(first), new URL(second)];
  const next = new Map<string, 0 | 1>();
  const proxy = await startHttpProxy((request, response) => {
    const worker = String(request.headers[WORKER_HEADER]);
    const place = next.get(worker) ?? (next.size % 2 === 0 ? 0 : 1);
    next.set(worker, place === 0 ? 1 : 0);
    passOn(
      request,
      response,
      { target: gateways[place], path: request.url },
      (answer) => giveBack(answer, response),
      ({ code }) => {
        if (response.headersSent) response.destroy();
        else response.writeHead(code === 'ECONNREFUSED' ? NOT_THERE : GONE).end();
      },
    );
  });
  return { ...proxy, gateways };
}
