import { request as httpRequest, type IncomingMessage } from 'node:http';
import type { INestApplication, Type } from '@nestjs/common';
import type { TopicOptions, TopicRef } from 'nestjs-delay-queue';
import {
  DelayQueueGatewayModule,
  type DelayQueueGatewayOptions,
  type GatewayHttpRequest,
  type GatewayRight,
} from 'nestjs-delay-queue/gateway';
import { afterEach } from 'vitest';
import { openGatewayConnection } from '../../../lib/composition/open-gateway-connection.js';
import { servedTopics } from '../../../lib/gateway/access.js';
import { type GatewayLimits, checkedLimits } from '../../../lib/gateway/limits.js';
import { serveGateway } from '../../../lib/gateway/serve-gateway.js';
import type { GatewayToken } from '../../../lib/gateway/tokens.js';
import type { Bed } from './bed.js';
import { serveOn } from './platforms.js';

/** Where a gateway runs. */
export type GatewayKind = 'Express' | 'Fastify' | 'standalone';
/** Beside the others: `fetch()` does not speak HTTP/2. */
export const HTTP_2 = 'Fastify with HTTP/2';
export const GATEWAY_KINDS: readonly GatewayKind[] = ['Express', 'Fastify', 'standalone'];

const RIGHTS: readonly GatewayRight[] = ['publish', 'receive', 'read', 'operate'];

/** Who may do what: `all` may do everything, `none` nothing, and the others what they are called. All of it with the topics `jobs` and `mail`. */
export const CALLERS = ['all', 'none', ...RIGHTS] as const;
export type Caller = (typeof CALLERS)[number];

export interface GatewaySetup extends Partial<GatewayLimits> {
  /** @defaultValue `jobs`, `mail` and `secret`, which nobody may use */
  readonly topics?: readonly TopicRef[];
  readonly topicOptions?: Record<string, TopicOptions>;
  readonly publishTimeout?: number;
  /** In an application: what it does before it listens. */
  readonly prepare?: (nest: INestApplication) => void;
  /** In an application: what it imports behind the gateway. */
  readonly imports?: readonly Type[];
  readonly module?: Partial<DelayQueueGatewayOptions>;
  /** Standalone: other tokens than those of the callers. */
  readonly tokens?: readonly GatewayToken[];
}

/** An answer, its content read. */
export interface GatewayAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly content: Content;
}

/** JSON of any form, to be looked into by a test. */
export interface Content {
  readonly [property: string]: unknown;
}

export interface Sent {
  readonly method?: string;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
  readonly signal?: AbortSignal;
}

/** A gateway of a test, as its clients talk to it. */
export class TestGateway {
  readonly url: string;
  readonly caller: Caller;
  readonly close: () => Promise<void>;

  constructor(url: string, close: () => Promise<void>, caller: Caller = 'all') {
    this.url = url;
    this.close = close;
    this.caller = caller;
  }

  as(caller: Caller): TestGateway {
    return new TestGateway(this.url, this.close, caller);
  }

  async send(path: string, { method, body, headers, signal }: Sent = {}): Promise<GatewayAnswer> {
    const response = await fetch(`${this.url}${path}`, {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      headers: {
        authorization: `Bearer ${this.caller}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: isAsSent(body) ? body : JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, content: text === '' ? {} : JSON.parse(text) };
  }

  /** The content of an answer that is no error. */
  async ok(path: string, sent: Sent = {}): Promise<Content> {
    const { status, content } = await this.send(path, sent);
    if (status < 200 || status > 201) throw new Error(`${status}: ${JSON.stringify(content)}`);
    return content;
  }

  /** The status and the code of an error. */
  async refusal(path: string, sent: Sent = {}): Promise<[status: number, code: string]> {
    const { status, content } = await this.send(path, sent);
    return [status, String(content['code'])];
  }

  async receive(topic = 'jobs', more: object = {}): Promise<readonly Content[]> {
    const { messages } = await this.ok(`/v1/topics/${topic}/receive`, { body: { wait: '5s', lease: '10s', ...more } });
    return messages as readonly Content[];
  }

  /** Sends a request that its sender can leave at any time. */
  open(path: string, body: object): { leave: () => void; answered: Promise<IncomingMessage> } {
    const { hostname, port } = new URL(this.url);
    const headers = { authorization: `Bearer ${this.caller}`, 'content-type': 'application/json' };
    const sent = httpRequest({ hostname, port, path, method: 'POST', headers });
    const answered = new Promise<IncomingMessage>((resolve, reject) => {
      sent.once('response', resolve).once('error', reject);
    });
    answered.catch(() => {});
    sent.end(JSON.stringify(body));
    return { leave: () => sent.destroy(), answered };
  }
}

function isAsSent(body: unknown): body is string | Uint8Array<ArrayBuffer> {
  return typeof body === 'string' || body instanceof Uint8Array;
}

/** Whether a caller has a right for a topic. */
function mayUse(caller: string, topic: string, right: GatewayRight): boolean {
  return (topic === 'jobs' || topic === 'mail') && (caller === 'all' || caller === right);
}

function byHeader({ headers }: GatewayHttpRequest, { topic, right }: { topic: string; right: GatewayRight }): boolean {
  return mayUse(headers.authorization?.slice('Bearer '.length) ?? '', topic, right);
}

const TOKENS: readonly GatewayToken[] = CALLERS.map((caller) => ({
  name: caller,
  token: caller,
  rights: new Map(['jobs', 'mail'].map((topic) => [topic, RIGHTS.filter((right) => mayUse(caller, topic, right))])),
}));

const TOPICS = ['jobs', 'mail', 'secret'];
const DEFAULTS = { partitions: 2, backoff: { type: 'fixed', delay: 0 } } as const;

/** Opens gateways for the tests of a file, and closes them after each. To be called after `useBed()`. */
export function useGateways(
  bed: Bed,
): (kind: GatewayKind | typeof HTTP_2, setup?: GatewaySetup) => Promise<TestGateway> {
  const opened: TestGateway[] = [];
  afterEach(async () => {
    await Promise.all(opened.splice(0).map(async (gateway) => gateway.close()));
  });
  return async (kind, setup = {}) => {
    const gateway = await (kind === 'standalone' ? openStandalone(bed, setup) : openInApplication(bed, kind, setup));
    opened.push(gateway);
    return gateway;
  };
}

async function openInApplication(
  bed: Bed,
  kind: 'Express' | 'Fastify' | typeof HTTP_2,
  {
    topics = TOPICS,
    topicOptions = {},
    publishTimeout = 5000,
    imports = [],
    prepare,
    module = {},
    ...limits
  }: GatewaySetup,
): Promise<TestGateway> {
  const gateway = DelayQueueGatewayModule.forRoot({ topics, access: byHeader, ...limits, ...module });
  const options = { topics: topicOptions, defaults: DEFAULTS, publishTimeout };
  const { app, url } = await serveOn(kind, bed, { options, imports: [gateway, ...imports] }, prepare);
  return new TestGateway(url, async () => app.close());
}

async function openStandalone(
  bed: Bed,
  { topics = TOPICS, topicOptions = {}, publishTimeout = 5000, tokens = TOKENS, ...limits }: GatewaySetup,
): Promise<TestGateway> {
  const served = servedTopics(topics);
  const own = Object.fromEntries([...served.keys()].map((topic) => [topic, { ...DEFAULTS, ...topicOptions[topic] }]));
  const log = { log: () => {}, warn: () => {}, error: () => {} };
  const { redis, prefix } = bed.options();
  const connection = await openGatewayConnection('a test', {
    ...(redis !== undefined && { redis }),
    ...(prefix !== undefined && { prefix }),
    timeout: publishTimeout,
    topics: own,
    log,
  });
  const gateway = await serveGateway({
    queues: connection,
    topics: served,
    tokens,
    host: '127.0.0.1',
    port: 0,
    limits: checkedLimits(limits),
    dismiss: async () => connection.stop(),
    log,
  });
  let closing: Promise<void> | undefined;
  return new TestGateway(gateway.url, async () => {
    closing ??= gateway.close().then(async () => connection.close());
    await closing;
  });
}
