import {
  type DashboardAccess,
  type DashboardHttpRequest,
  DelayQueueDashboardModule,
} from 'nestjs-delay-queue/dashboard';
import type { INestApplication } from '@nestjs/common';
import type { DelayQueueModuleOptions } from 'nestjs-delay-queue';
import type { Bed, RunningApp } from './bed.js';
import { Jobs } from './jobs.js';
import { type HttpPlatform, serveOn } from './platforms.js';

/** What the dashboard's own page sends with each action. */
export const OWN_HEADERS = {
  'content-type': 'application/json',
  'x-delay-queue-dashboard': '1',
  'sec-fetch-site': 'same-origin',
} as const;

/** Lets in by a header of the request: `Bearer ann:operate`. */
const byHeader: DashboardAccess<DashboardHttpRequest> = ({ headers }) => {
  const [, actor, right] = /^Bearer (\w+):(read|operate)$/.exec(headers.authorization ?? '') ?? [];
  return right === 'read' || right === 'operate' ? { right, actor } : 'none';
};

export interface DashboardSetup {
  readonly platform?: HttpPlatform;
  readonly access?: DashboardAccess<DashboardHttpRequest>;
  readonly redact?: (payload: unknown) => unknown;
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
    readonly right: 'none' | 'read' | 'operate' = 'operate',
  ) {}

  as(right: 'none' | 'read' | 'operate'): TestDashboard {
    return new TestDashboard(this.app, this.url, right);
  }

  async fetch(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = {
      authorization: `Bearer ann:${this.right}`,
      ...(init.headers as Record<string, string> | undefined),
    };
    return fetch(new URL(path, this.url), { redirect: 'manual', ...init, headers });
  }

  async get<T>(path: string): Promise<T> {
    return answerOf(await this.fetch(path));
  }

  async post<T>(path: string, body: object, headers: Record<string, string> = OWN_HEADERS): Promise<T> {
    return answerOf(await this.fetch(path, { method: 'POST', headers, body: JSON.stringify(body) }));
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
  const dashboard = DelayQueueDashboardModule.forRoot({ access, ...(redact && { redact }) });
  const options = { defaults: { partitions: 2, attempts: 1 }, consumer: { maxIdleWait: 200 }, ...setup.options };
  const { app, url } = await serveOn(platform, bed, { providers: [Jobs], options, imports: [dashboard] }, prepare);
  return new TestDashboard(app, new URL(at, url).href);
}
