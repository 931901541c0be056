import { once } from 'node:events';
import { type RequestListener, type ServerOptions, createServer } from 'node:http';
import { type AddressInfo, isIPv6 } from 'node:net';

/** Where something is served without an application, and how. */
export interface Serving extends ServerOptions {
  readonly host: string;
  /** 0 takes one that is free. */
  readonly port: number;
  /** How long nothing may happen on a connection before it is closed, in milliseconds. @defaultValue forever */
  readonly idleTimeout?: number;
}

/** A server on a port of its own. */
export interface Server {
  readonly url: string;
  /**
   * Ends once all requests are answered.
   *
   * @param patience how long these may take, in milliseconds
   */
  close(patience?: number): Promise<void>;
}

/** Rejects if it cannot listen there. */
export async function serve(
  { host, port, idleTimeout = 0, ...options }: Serving,
  listener: RequestListener,
): Promise<Server> {
  const server = createServer(options, listener);
  server.timeout = idleTimeout;
  await once(server.listen(port, host), 'listening');
  const { port: taken } = server.address() as AddressInfo;
  return {
    url: `http://${isIPv6(host) ? `[${host}]` : host}:${taken}`,
    close: async (patience = 0) => {
      const closed = once(server.close(), 'close');
      const end = setTimeout(() => server.closeAllConnections(), patience);
      await closed;
      clearTimeout(end);
    },
  };
}
