import type { INestApplication, Type } from '@nestjs/common';
import type { DelayQueueModuleOptions } from 'nestjs-delay-queue';
import {
  type DashboardAccess,
  type DashboardHttpRequest,
  type DashboardRight,
  type DashboardUser,
  DelayQueueDashboardModule,
} from 'nestjs-delay-queue/dashboard';
import type { Bed, RunningApp } from './bed.js';
import type { Told } from '../../../lib/dashboard/watched-look.js';
import { Jobs } from './jobs.js';
import { type HttpPlatform, serveOn } from './platforms.js';

/** What the dashboard's own page sends with each action. */
export const OWN_HEADERS = {
  'content-type': 'application/json',
  'x-delay-queue-dashboard': '1',
  'sec-fetch-site': 'same-origin',
} as const;

/** What a user may do, as the option `access` of a test answers it. */
export type TestUser = DashboardRight | DashboardUser;

const USER_HEADER = 'x-test-user';
const ANN: TestUser = { right: 'operate', actor: 'ann' };

const byHeader: DashboardAccess<DashboardHttpRequest> = ({ headers }) =>
  JSON.parse(String(headers[USER_HEADER])) as TestUser;

export interface DashboardSetup {
  readonly platform?: HttpPlatform;
  readonly access?: DashboardAccess<DashboardHttpRequest>;
  readonly redact?: (payload: unknown) => unknown;
  /** What handles messages beside {@link Jobs}. */
  readonly providers?: readonly Type[];
  readonly prepare?: (nest: INestApplication) => void;
  /** Beside those of every test. */
  readonly options?: DelayQueueModuleOptions;
  /** Below the URL of the server. @defaultValue '/queues/' */
  readonly at?: string;
}

/** A dashboard of a test, as a browser talks to it. */
export class TestDashboard {
  constructor(
    readonly app: RunningApp,
    /** Ends with a slash. */
    readonly url: string,
    readonly user: TestUser = ANN,
  ) {}

  as(user: TestUser): TestDashboard {
    return new TestDashboard(this.app, this.url, user);
  }

  async fetch(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = {
      [USER_HEADER]: JSON.stringify(this.user),
      ...(init.headers as Record<string, string> | undefined),
    };
    return fetch(new URL(path, this.url), { redirect: 'manual', ...init, headers });
  }

  async get<T>(path: string): Promise<T> {
    return answerOf(await this.fetch(path));
  }

  async post<T>(path: string, body: object): Promise<T> {
    return answerOf(await this.send(path, body));
  }

  /** The same with whatever is answered. */
  async send(path: string, body: object, headers: Record<string, string> = OWN_HEADERS): Promise<Response> {
    return this.fetch(path, { method: 'POST', headers, body: JSON.stringify(body) });
  }

  /** Opens a stream of what the looks show. */
  async watch(looks: readonly string[]): Promise<WatchedLooks> {
    const query = looks.map((look) => `look=${encodeURIComponent(look)}`).join('&');
    return new WatchedLooks(await this.fetch(`api/watch?${query}`));
  }
}

/** What a stream has told so far. */
export class WatchedLooks {
  text = '';
  readonly #reader: ReadableStreamDefaultReader<string>;

  constructor({ body }: Response) {
    this.#reader = (body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader();
  }

  get told(): Told[] {
    const blocks = this.text.split('\n\n').slice(0, -1);
    return blocks.flatMap((one) => (one.startsWith('data: ') ? [JSON.parse(one.slice('data: '.length)) as Told] : []));
  }

  /** Reads on until it has told something that fits, which it returns. */
  async until(fits: (told: Told) => boolean): Promise<Told> {
    for (;;) {
      const found = this.told.find(fits);
      if (found) return found;
      const { value, done } = await this.#reader.read();
      if (done) throw new Error(`The stream has ended: ${this.text}`);
      this.text += value;
    }
  }

  /** Reads to its end. */
  async ended(): Promise<void> {
    while (!(await this.#reader.read()).done);
  }

  async close(): Promise<void> {
    await this.#reader.cancel();
  }
}

async function answerOf<T>(response: Response): Promise<T> {
  const text = await response.text();
  if (!response.ok) throw new Error(`${response.status}: ${text}`);
  return JSON.parse(text) as T;
}

/** Boots an application that handles `jobs` and has a dashboard. */
export async function openDashboard(bed: Bed, setup: DashboardSetup = {}): Promise<TestDashboard> {
  const { platform = 'Express', access = byHeader, redact, prepare, at = '/queues/' } = setup;
  const providers = [Jobs, ...(setup.providers ?? [])];
  const dashboard = DelayQueueDashboardModule.forRoot({ access, ...(redact && { redact }) });
  const options = { defaults: { partitions: 2, attempts: 1 }, consumer: { maxIdleWait: 200 }, ...setup.options };
  const { app, url } = await serveOn(platform, bed, { providers, options, imports: [dashboard] }, prepare);
  return new TestDashboard(app, new URL(at, url).href);
}
