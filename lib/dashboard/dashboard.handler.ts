import { splitUrl } from '../http/framework.js';
import { Refusal, refusalOf } from '../http/refusal.js';
import { type Answering, type JsonAnswer, respond, type ServedRequest } from '../http/respond.js';
import { Router, notAllowed } from '../http/router.js';
import { type Clock, SystemClock } from '../time/clock.js';
import { ACTING_ROUTES } from './acting.routes.js';
import { PAGE, readAssets } from './assets.js';
import { type EventStream, EventStreams } from './event-streams.js';
import { followEvents } from './live-events.js';
import { Operations } from './operations.js';
import { PAGE_POLICY } from './page-policy.js';
import { ANSWER_WITHOUT_REDIS, READING_ROUTES } from './reading.routes.js';
import { type DashboardRedact, NO_PAYLOADS } from './redaction.js';
import { assertNotForged, assertOwnSite, bodyOf } from './request-checks.js';
import { type AskedContext, type DashboardQueues, Given, type Route, answerOf } from './route.js';
import { type Looks, SharedLooks, type Taken } from './shared-looks.js';
import { unlessAway } from './unless-away.js';
import type { Viewer } from './viewer.js';
import { watchLook } from './watched-look.js';

/**
 * Path that streams the answers of other routes whenever they change. Each `look` names one, with its parameters: a page has one stream,
 * since a browser has six connections to a server.
 */
export const WATCH_ROUTE = 'api/watch';

/** Look beside the routes that can be watched: events as they happen. */
export const LIVE_LOOK = 'api/live';

/** Most looks of a stream, more than any page has. */
const MAX_LOOKS = 10;

const HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': `${PAGE_POLICY}; frame-ancestors 'none'`,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
};

/** All routes with their methods and paths: looks are requested with GET. */
const ROUTES = Object.entries({ ...READING_ROUTES, ...ACTING_ROUTES }).map(([path, route]) => ({
  ...route,
  path: `/${path}`,
  method: route.right === 'look' ? 'GET' : 'POST',
}));

const FAILED = new Refusal(500, 'INTERNAL', 'The dashboard has failed; the log of its process says why.');

export interface DashboardHandlerOptions {
  readonly queues: DashboardQueues;
  readonly redact?: DashboardRedact | undefined;
  readonly traceUrl?: string | undefined;
  readonly log: { error(message: string): void };
  readonly clock?: Clock;
}

export interface DashboardRequest extends ServedRequest {
  /** Sender of the request; `undefined` if they are not allowed to see anything. */
  readonly viewer: Viewer | undefined;
}

/** A request of a sender who is allowed to see something. */
type AdmittedRequest = DashboardRequest & { readonly viewer: Viewer };

/** Answers the requests of the dashboard, whatever it is mounted in. */
export class DashboardHandler implements Answering {
  readonly name = 'dashboard';
  readonly log: DashboardHandlerOptions['log'];
  readonly #router = new Router(ROUTES);
  readonly #options: DashboardHandlerOptions;
  readonly #clock: Clock;
  readonly #looks: SharedLooks;
  readonly #operations: Operations;
  readonly #streams = new EventStreams();
  readonly #assets = readAssets();

  /** @throws ConfigurationError if its pages are missing */
  constructor(options: DashboardHandlerOptions) {
    this.#options = options;
    this.log = options.log;
    const { clock = new SystemClock() } = options;
    this.#looks = new SharedLooks(clock);
    this.#clock = clock;
    this.#operations = new Operations(clock, () => this.#looks.forget());
  }

  /** Never rejects. */
  async handle(asked: DashboardRequest): Promise<void> {
    await respond(asked, this, async () => {
      // Files and streams have them too.
      for (const [name, value] of Object.entries(HEADERS)) asked.response.setHeader(name, value);
      const { viewer } = asked;
      if (!viewer) throw new Refusal(403, 'FORBIDDEN', 'You may not see this.');
      return this.#answer({ ...asked, viewer });
    });
  }

  told(error: unknown): JsonAnswer {
    const { status, code, message, headers } = refusalOf(error) ?? FAILED;
    return { status, headers, content: { error: { code, message } } };
  }

  /** Takes the look that the first page needs. Never rejects. */
  async lookAhead(viewer: Viewer): Promise<void> {
    await this.#lookAt('api/overview', new URLSearchParams(), viewer)().catch(() => {});
  }

  /** Ends open streams and operations. */
  close(): void {
    this.#streams.close();
    this.#operations.stopAll();
  }

  async #answer(asked: AdmittedRequest): Promise<JsonAnswer | undefined> {
    const { request, path } = asked;
    const found = this.#router.find(request.method ?? '', path);
    if (found?.route.method === 'POST') return this.#act(asked, found.route);
    if (request.method !== 'GET' && request.method !== 'HEAD') throw notAllowed('GET');
    return path.startsWith('/api/') ? this.#read(asked) : this.#sendAsset(asked);
  }

  async #act({ request, host, body, viewer }: AdmittedRequest, route: Route): Promise<JsonAnswer> {
    assertNotForged(request, host);
    const given = new Given(await bodyOf(request, body));
    // A refused action has changed nothing, so all looks are kept.
    const run: Route['run'] = async (...asked) => route.run(...asked).finally(() => this.#looks.forget());
    const { answer } = await this.#looks.answer(async (looks) =>
      answerOf(this.#asked(viewer, looks), given, { ...route, run }),
    );
    return { status: 200, content: answer };
  }

  async #read({ request, response, host, path, search, viewer }: AdmittedRequest): Promise<JsonAnswer | undefined> {
    assertOwnSite(request, host);
    const query = new URLSearchParams(search);
    if (path === `/${WATCH_ROUTE}`) {
      const begins = this.#watched(query.getAll('look'), viewer);
      const stream = this.#streams.open(request, response);
      for (const begin of begins) begin(stream);
      return undefined;
    }
    const { answer, takenAt } = await this.#lookAt(path.slice(1), query, viewer)();
    const age = Math.floor((this.#clock.now() - takenAt) / 1000);
    return { status: 200, content: answer, headers: { age: String(age) } };
  }

  /** @throws Refusal if there is no such route */
  #lookAt(path: string, query: URLSearchParams, viewer: Viewer): () => Promise<Taken<unknown>> {
    const found = this.#router.find('GET', `/${path}`);
    if (!found) throw nothingHere();
    const given = new Given(Object.fromEntries(query));
    const look = async (): Promise<Taken<unknown>> =>
      this.#looks.answer(async (looks) => answerOf(this.#asked(viewer, looks), given, found.route));
    if (ANSWER_WITHOUT_REDIS.has(path)) return look;
    const reach = { admin: this.#options.queues.admin, looks: this.#looks, clock: this.#clock };
    return () => unlessAway(look(), reach);
  }

  /**
   * Returns functions that begin each of the looks of a stream.
   *
   * @throws Refusal if one of them does not exist, or there are too many
   */
  #watched(looks: readonly string[], viewer: Viewer): ((stream: EventStream) => void)[] {
    if (looks.length === 0 || looks.length > MAX_LOOKS) {
      throw new Refusal(400, 'INVALID_ARGUMENT', `'look' must be given 1 to ${MAX_LOOKS} times.`);
    }
    return looks.map((asked, number) => {
      const { path, search } = splitUrl(asked);
      const query = new URLSearchParams(search);
      if (path === LIVE_LOOK) {
        const filter = { viewer, topic: query.get('topic') || undefined, kind: query.get('kind') || undefined };
        return (stream) => followEvents(this.#options.queues.events.fleet, filter, number, stream);
      }
      const look = this.#lookAt(path, query, viewer);
      return (stream) => void watchLook({ look, number, clock: this.#clock }, stream);
    });
  }

  #sendAsset({ response, path }: DashboardRequest): undefined {
    const name = path.slice(1) || PAGE;
    const asset = this.#assets.get(name);
    if (!asset) throw nothingHere();
    // The names of all others change with their content.
    if (name !== PAGE) response.setHeader('cache-control', 'private, max-age=31536000, immutable');
    response.writeHead(200, { 'content-type': asset.type, 'content-length': asset.content.length });
    response.end(asset.content);
  }

  #asked(viewer: Viewer, looks: Looks): AskedContext {
    const { queues, traceUrl } = this.#options;
    const redact = viewer.rights.payloads ? this.#options.redact : NO_PAYLOADS;
    return {
      queues,
      redact,
      traceUrl,
      viewer,
      by: { actor: viewer.rights.actor },
      looks,
      operations: this.#operations,
      clock: this.#clock,
    };
  }
}

function nothingHere(): Refusal {
  return new Refusal(404, 'NOT_FOUND', 'There is nothing here.');
}
