import type { Gateway } from './gateway.js';
import { giveBack, passOn, startHttpProxy } from './http-proxy.js';

/** Starts a proxy before a gateway that loses the response to the first try of each request with an `Idempotency-Key`. */
export async function startLossyProxy(url: string): Promise<Gateway> {
  const target = new URL(url);
  const tried = new Set<string>();
  const proxy = await startHttpProxy((request, response) => {
    const { 'idempotency-key': key } = request.headers;
    const isLost = typeof key === 'string' && !tried.has(key);
    if (isLost) tried.add(key);
    passOn(request, response, { target, path: request.url }, (answer) => {
      // The gateway has done it and answered; only then is the answer lost.
      if (isLost) answer.resume().once('end', () => request.socket.destroy());
      else giveBack(answer, response);
    });
  });
  // With the path of the gateway.
  return { ...proxy, url: `${proxy.url}${target.pathname.replace(/\/$/, '')}` };
}
