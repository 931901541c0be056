import { once } from 'node:events';
import { type RequestListener, type ServerOptions, createServer } from 'node:http';
import { type AddressInfo, isIPv6 } from 'node:net';

/** Address and options of a server without an application. */
export interface Serving extends ServerOptions {
  readonly host: string;
  /** 0 picks a free one. */
  readonly port: number;
  /** Longest time that a connection can be idle before it is closed, in milliseconds. @defaultValue forever */
  readonly idleTimeout?: number;
}

/** A server on a port of its own. */
export interface Server {
  readonly url: string;
  /**
   * Closes the server; resolves once all requests are answered.
   *
   * @param patience longest time for that, in milliseconds
   */
  close(patience?: number): Promise<void>;
}

/** Starts a server. Rejects if it cannot listen there. */
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
