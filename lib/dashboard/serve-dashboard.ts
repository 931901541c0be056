import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { splitUrl } from '../http/framework.js';
import { isForLoopback } from '../http/foreign-page.js';
import { Secret } from '../http/secret.js';
import { type Serving, serve } from '../http/serve.js';
import { DashboardHandler, type DashboardHandlerOptions } from './dashboard.handler.js';
import { viewerOf } from './viewer.js';

/** Options of a dashboard that is served without an application. */
export interface ServeOptions
  extends Pick<DashboardHandlerOptions, 'queues' | 'redact' | 'log'>, Pick<Serving, 'port'> {
  /** Whether its user is also allowed to change something. */
  readonly operate: boolean;
  /** Name of the user, for the audit log. */
  readonly actor?: string;
}

export interface ServedDashboard {
  /** Address with the token without which nothing is answered. */
  readonly url: string;
  /** Takes the look that the first page needs, so that it is under way when a user opens the page. Never rejects. */
  lookAhead(): Promise<void>;
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
  const viewer = viewerOf({ right: operate ? 'operate' : 'read', actor });
  const server = await serve({ host: HOST, port }, (request, response) => {
    const { path, search } = splitUrl(request.url ?? '');
    const [, given = '', ...rest] = path.split('/');
    if (!isForLoopback(request)) {
      return refuse(
        request,
        response,
        403,
        'The dashboard is served to this machine alone, by the URL that was printed.',
      );
    }
    if (rest.length === 0 || !secret.equals(new Secret(given))) {
      return refuse(request, response, 401, 'Open the URL that the command has printed: it has a token in it.');
    }
    void handler.handle({ request, response, path: `/${rest.join('/')}`, search, body: undefined, viewer });
  });
  return {
    url: `${server.url}/${token}/`,
    lookAhead: async () => (viewer ? handler.lookAhead(viewer) : undefined),
    close: async () => {
      handler.close();
      await server.close();
    },
  };
}

function refuse(request: IncomingMessage, response: ServerResponse, status: number, message: string): void {
  request.resume();
  const headers = { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' };
  response.writeHead(status, { ...headers, 'cache-control': 'no-store' });
  response.end(`${message}\n`);
}
