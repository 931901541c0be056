import { randomBytes } from 'node:crypto';
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Secret } from '../http/secret.js';
import { DashboardHandler } from './dashboard.handler.js';
import type { DashboardRedact } from './redaction.js';
import type { DashboardQueues } from './route.js';

/** How the dashboard is served without an application. */
export interface ServeOptions {
  readonly queues: DashboardQueues;
  /** 0 takes one that is free. */
  readonly port: number;
  /** Whether its reader may also change something. */
  readonly operate: boolean;
  /** Who it is, for the audit log. */
  readonly actor?: string;
  readonly redact?: DashboardRedact;
  readonly log: { error(message: string): void };
}

export interface ServedDashboard {
  /** Has the token without which nothing is answered. */
  readonly url: string;
  close(): Promise<void>;
}

const HOST = '127.0.0.1';
const TOKEN_BYTES = 24;

/** Serves the dashboard to this machine alone, below a path that cannot be guessed. */
export async function serveDashboard({
  queues,
  port,
  operate,
  actor,
  redact,
  log,
}: ServeOptions): Promise<ServedDashboard> {
  const token = randomBytes(TOKEN_BYTES).toString('base64url');
  const secret = new Secret(token);
  const handler = new DashboardHandler({ queues, redact, log });
  const user = { right: operate ? 'operate' : 'read', actor } as const;
  const server = createServer((request, response) => {
    const [path = '', search = ''] = (request.url ?? '').split('?', 2);
    const [, given = '', ...rest] = path.split('/');
    if (rest.length === 0 || !secret.equals(new Secret(given))) return refuse(request, response);
    void handler.handle({
      request,
      response,
      path: rest.join('/'),
      query: new URLSearchParams(search),
      body: undefined,
      user,
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, HOST, resolve);
  });
  return {
    url: `http://${HOST}:${(server.address() as AddressInfo).port}/${token}/`,
    close: async () => {
      handler.close();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };
}

function refuse(request: IncomingMessage, response: ServerResponse): void {
  request.resume();
  response.writeHead(401, { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' });
  response.end('Open the URL that the command has printed: it has a token in it.\n');
}
