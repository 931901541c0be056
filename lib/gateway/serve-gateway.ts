import type { IncomingMessage, ServerResponse } from 'node:http';
import { foreignPage, isForLoopback } from '../http/foreign-page.js';
import { splitUrl } from '../http/framework.js';
import { type Serving, serve } from '../http/serve.js';
import { sendJson } from '../http/respond.js';
import { GatewayHandler, type GatewayHandlerOptions } from './gateway.handler.js';
import { MAX_WAIT } from './limits.js';
import { openApiDocument } from './openapi.js';
import { documentRoute, healthRoute } from './own.routes.js';
import { problemAnswer, refusal, toProblem } from './problem.js';
import type { Route } from './route.js';
import { ROUTES } from './routes.js';
import { type GatewayToken, KnownTokens, mayUse } from './tokens.js';

/** Options of a gateway that is served without an application. */
export interface ServeGatewayOptions extends Omit<GatewayHandlerOptions, 'routes'>, Pick<Serving, 'host' | 'port'> {
  /** Known tokens; with an empty list, everybody on this machine is allowed to do everything. */
  readonly tokens: readonly GatewayToken[];
  /** Called at the beginning of a shutdown; makes the requests that wait for messages be answered. */
  readonly dismiss: () => Promise<void>;
}

export interface ServedGateway {
  readonly url: string;
  /** Answers the waiting requests, and ends once all are answered, or after some seconds. */
  close(): Promise<void>;
}

const TIMEOUTS = {
  /** Longest times for a client to send the head of a request, and all of it, in milliseconds. */
  headersTimeout: 10_000,
  requestTimeout: 60_000,
  connectionsCheckingInterval: 1000,
  /** Longer than a request can wait. */
  idleTimeout: 2 * MAX_WAIT,
  /** Longer than proxies keep connections, so that they close them rather than we, in milliseconds. */
  keepAliveTimeout: 75_000,
};

/** Longest time for requests that are being answered once the shutdown has begun, in milliseconds. */
const PATIENCE = 5000;

/** Serves the gateway on a port of its own. */
export async function serveGateway(options: ServeGatewayOptions): Promise<ServedGateway> {
  const { host, port, tokens, queues, log, dismiss } = options;
  let isClosing = false;
  const isUp = shared(async () =>
    queues.admin.reach(HEALTH_TIMEOUT).then(
      () => true,
      () => false,
    ),
  );
  const routes: readonly Route[] = [
    ...ROUTES,
    documentRoute(() => openApiDocument(routes, { tokens: tokens.length > 0 })),
    healthRoute(async () => !isClosing && isUp()),
  ];
  const handler = new GatewayHandler({ ...options, routes });
  const known = tokens.length === 0 ? undefined : new KnownTokens(tokens);
  const server = await serve({ host, port, ...TIMEOUTS }, (request, response) =>
    answer({ handler, known, log }, request, response),
  );
  return {
    url: server.url,
    close: async () => {
      isClosing = true;
      handler.close();
      await dismiss();
      await server.close(PATIENCE);
    },
  };
}

/** Time for which an answer about Redis holds, in milliseconds: it needs no token, so more requests must not cost more. */
const HEALTH_AGE = 1000;

/** Longest time for Redis to answer, in milliseconds. */
const HEALTH_TIMEOUT = 2000;

/** Shares one answer among all callers that ask at the same time, or soon after. */
function shared<T>(ask: () => Promise<T>): () => Promise<T> {
  let asked: { readonly at: number; readonly answer: Promise<T> } | undefined;
  return async () => {
    const now = performance.now();
    if (!asked || now - asked.at > HEALTH_AGE) asked = { at: now, answer: ask() };
    return asked.answer;
  };
}

/** Paths that need no token. */
const OPEN = new Set(['/openapi.json', '/health']);

interface Answering {
  readonly handler: GatewayHandler;
  /** `undefined`: no token is needed. */
  readonly known: KnownTokens | undefined;
  readonly log: ServeGatewayOptions['log'];
}

function answer({ handler, known, log }: Answering, request: IncomingMessage, response: ServerResponse): void {
  const { path, search } = splitUrl(request.url ?? '');
  const token = known ? known.find(request.headers.authorization) : EVERYTHING;
  if (!known && !isFromHere(request)) return refuse(request, response, foreign());
  if (!token && !OPEN.has(path)) return refuse(request, response, unauthorized());
  const may = async (...asked: [topic: string, right: Parameters<typeof mayUse>[2]]): Promise<boolean> =>
    token !== undefined && mayUse(token, ...asked);
  handler
    .handle({ request, response, path, search, body: undefined, actor: token?.name, may })
    .catch((error: unknown) => {
      log.error(`The gateway could not answer ${request.method} ${path}: ${String(error)}`);
      response.destroy();
    });
}

const EVERYTHING: GatewayToken = { token: '' };

/** Headers that a proxy adds, which may pass on requests of anyone who reaches it. */
const OF_PROXIES = ['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip'];

/** Whether a request was meant for this machine, no proxy says that it passed it on, and no page of another site had it sent. */
function isFromHere(request: IncomingMessage): boolean {
  const isPassedOn = OF_PROXIES.some((name) => request.headers[name] !== undefined);
  return isForLoopback(request) && !isPassedOn && foreignPage(request) === undefined;
}

function foreign(): Error {
  return refusal(
    'FORBIDDEN',
    'Without a token the gateway serves this machine alone, by the name localhost or an address of it, and not through a proxy. Start it with ' +
      '--token to serve others.',
  );
}

function unauthorized(): Error {
  const headers = { 'www-authenticate': 'Bearer', connection: 'close' };
  return refusal('UNAUTHORIZED', 'Send one of the tokens of the gateway: Authorization: Bearer <token>.', headers);
}

function refuse(request: IncomingMessage, response: ServerResponse, error: Error): void {
  request.resume();
  const refused = problemAnswer(toProblem(error), error);
  sendJson(response, refused, { 'cache-control': 'no-store' });
}
