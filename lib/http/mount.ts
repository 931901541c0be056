import type { IncomingMessage } from 'node:http';
import {
  All,
  Controller,
  type DynamicModule,
  Inject,
  type InjectionToken,
  Req,
  Res,
  SetMetadata,
  type Type,
  VERSION_NEUTRAL,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { describe } from '../checks/describe.js';
import { asConfiguration, assertOptions } from '../checks/validate.js';
import { ConfigurationError } from '../errors/options.errors.js';
import { type FrameworkRequest, type FrameworkResponse, servedRequest, splitUrl } from './framework.js';
import type { ServedRequest } from './respond.js';
import { saysJson } from './read-json.js';

/** The parts of an adapter of Nest that are needed here. */
interface HttpAdapter {
  getType(): string;
  getInstance(): unknown;
}

/** Nest's `HttpAdapterHost`. A testing module gets its adapter once it is made. */
interface AdapterHost {
  readonly httpAdapter: HttpAdapter | undefined;
  readonly init$: { subscribe(next: () => void): unknown };
}

/** Returns a test for the routes of a mount, by their registered paths: anything before those belongs to the application. */
function routesAt(place: string, paths: readonly string[]): (route: string) => boolean {
  const ends = paths.map((path) => `/${place}/${path}`.replaceAll(/\/+/g, '/'));
  return (route) => ends.some((end) => route.endsWith(end));
}

/**
 * Leaves the bodies of our own routes unread until their handler reads them: the result of a framework's parser no longer shows which digits
 * a number had, or which bytes a text. Call this before the application is initialized: then it comes before all parsers except those of a
 * server that the application was given.
 *
 * @param isOwn whether the registered path of a route is one of ours
 */
export function leaveBodies(host: AdapterHost, isOwn: (route: string) => boolean): void {
  const { httpAdapter } = host;
  if (!httpAdapter) {
    host.init$.subscribe(() => leaveBodies(host, isOwn));
    return;
  }
  const instance = httpAdapter.getInstance();
  if (httpAdapter.getType() === 'express') leaveInExpress(instance as Express, isOwn);
  if (httpAdapter.getType() === 'fastify') leaveInFastify(instance as Fastify, isOwn);
}

interface ExpressLayer {
  readonly route?: { readonly path: unknown; readonly methods: Readonly<Record<string, boolean>> };
  match(path: string): boolean;
}

interface Express {
  readonly router: { readonly stack: readonly ExpressLayer[] };
  use(middleware: (request: IncomingMessage & Read, response: unknown, next: () => void) => void): void;
}

/** Property that Express parsers check: a request that sets it has been read. */
interface Read {
  finished?: boolean;
}

function leaveInExpress(express: Express, isOwn: (route: string) => boolean): void {
  express.use((request, _, next) => {
    if (saysJson(request.headers['content-type'])) {
      const route = routeOf(express, request);
      if (typeof route === 'string' && isOwn(route)) {
        request.finished = true;
      }
    }
    next();
  });
}

/** Returns the path of the route that Express will match, so that routes that are not ours keep their parsers. */
function routeOf({ router }: Express, { method = '', url = '' }: IncomingMessage): unknown {
  const { path } = splitUrl(url);
  try {
    return router.stack.find((layer) => handles(layer, method.toLowerCase()) && layer.match(path))?.route?.path;
  } catch {
    // Express refuses a path that cannot be decoded.
    return undefined;
  }
}

function handles({ route }: ExpressLayer, method: string): boolean {
  return route !== undefined && (Object.hasOwn(route.methods, method) || Object.hasOwn(route.methods, '_all'));
}

interface FastifyRequest {
  readonly raw: IncomingMessage;
  readonly routeOptions: { readonly url?: string };
}

type Done = (error: null, payload?: unknown) => void;

interface Fastify {
  addHook(
    name: 'preParsing',
    hook: (request: FastifyRequest, reply: unknown, payload: unknown, done: Done) => void,
  ): void;
  addHook(name: 'preValidation', hook: (request: FastifyRequest, reply: unknown, done: Done) => void): void;
}

/** Headers by which Fastify knows that a request has a body, and which parser it needs. */
const BODY_HEADERS = ['content-type', 'content-length', 'transfer-encoding'] as const;

function leaveInFastify(fastify: Fastify, isOwn: (route: string) => boolean): void {
  const hidden = new WeakMap<IncomingMessage, [name: string, value: string | undefined][]>();
  fastify.addHook('preParsing', ({ raw, routeOptions: { url } }, _, payload, done) => {
    if (url !== undefined && isOwn(url)) {
      const { headers } = raw;
      hidden.set(
        raw,
        BODY_HEADERS.filter((name) => name in headers).map((name) => [name, headers[name]]),
      );
      for (const name of BODY_HEADERS) delete headers[name];
    }
    done(null, payload);
  });
  fastify.addHook('preValidation', ({ raw }, _, done) => {
    for (const [name, value] of hidden.get(raw) ?? []) raw.headers[name] = value;
    done(null);
  });
}

/** Keeps a controller out of the document of the application, as `@ApiExcludeController()` of `@nestjs/swagger` does. */
const WithoutSwagger = (): ClassDecorator => SetMetadata('swagger/apiExcludeController', [true]);

/** A handler to mount in an application, on Express or Fastify. */
interface Mount<P extends readonly unknown[], H extends { close(): void }> {
  readonly module: Type;
  readonly path: string;
  /** Paths that are answered below that, in the syntax of both frameworks. All other paths are the application's. */
  readonly paths: readonly string[];
  /** The parts of the connection that the handler works with. */
  readonly parts: readonly InjectionToken[];
  readonly handler: (...parts: P) => H;
  readonly answer: (handler: H, served: Required<ServedRequest>, asked: FrameworkRequest) => Promise<void>;
  /** Shutdown hook of the application that closes the handler. */
  readonly closesIn: 'onModuleDestroy' | 'beforeApplicationShutdown';
}

const HANDLER = Symbol.for('nestjs-delay-queue:handler');
const MOUNT = Symbol.for('nestjs-delay-queue:mount');

let mounts = 0;

/** Makes a separate controller for each mount: an application can have several, each with its own connection. */
export function mount<P extends readonly unknown[], H extends { close(): void }>(mounted: Mount<P, H>): DynamicModule {
  const { module, path, paths, parts, handler: useFactory, answer, closesIn } = mounted;

  @WithoutSwagger()
  @Controller({ path, version: VERSION_NEUTRAL })
  class MountedController {
    readonly #handler: H;

    constructor(@Inject(HANDLER) handler: H, @Inject(HttpAdapterHost) host: HttpAdapterHost) {
      this.#handler = handler;
      leaveBodies(host, routesAt(path, paths));
    }

    @All([...paths])
    async answer(@Req() asked: FrameworkRequest, @Res() answered: FrameworkResponse): Promise<void> {
      await answer(this.#handler, servedRequest(asked, answered, paths), asked);
    }

    [closesIn](): void {
      this.#handler.close();
    }
  }
  // The name appears in the log of Nest, and guards can rely on it.
  Object.defineProperty(MountedController, 'name', { value: module.name.replace('Module', 'Controller') });
  const providers = [
    { provide: HANDLER, useFactory, inject: [...parts] },
    // Different in each mount: an application can have Nest distinguish modules by their content (`deep-hash`), which takes two mounts of
    // the same connection for one.
    { provide: MOUNT, useValue: ++mounts },
  ];
  return { module, providers, controllers: [MountedController] };
}

/** The options that every mount has. */
interface MountOptions {
  readonly path?: unknown;
  readonly access?: unknown;
}

/** Rules for the options of a mount, and words for their errors. */
interface MountRules {
  readonly names: readonly string[];
  readonly path: RegExp;
  readonly examplePath: string;
  /** Clause after "whether" for what `access` decides. */
  readonly access: string;
}

/** @throws ConfigurationError for an unknown option or an invalid path, or if nothing decides who may do what: that is never assumed */
export function assertMountOptions(where: string, given: MountOptions, rules: MountRules): void {
  asConfiguration(where, () => assertOptions('Its options', given, rules.names));
  const { access, path } = given;
  if (typeof access !== 'function') {
    throw new ConfigurationError(
      `${where} needs the option 'access', a function that says for each request whether ${rules.access}. Given: ${describe(access)}.`,
    );
  }
  if (path === undefined || (typeof path === 'string' && rules.path.test(path))) return;
  throw new ConfigurationError(
    `${where}: path must be a path such as '${rules.examplePath}'. Given: ${describe(path)}.`,
  );
}
