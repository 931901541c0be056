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

/** An adapter of Nest, as far as it is needed here. */
interface HttpAdapter {
  getType(): string;
  getInstance(): unknown;
}

/** Nest's `HttpAdapterHost`. A testing module gets its adapter once it is made. */
interface AdapterHost {
  readonly httpAdapter: HttpAdapter | undefined;
  readonly init$: { subscribe(next: () => void): unknown };
}

/** Tells the routes of a mount from those of others, by their paths as they are registered: what stands before them is the application's. */
function routesAt(place: string, paths: readonly string[]): (route: string) => boolean {
  const ends = paths.map((path) => `/${place}/${path}`.replaceAll(/\/+/g, '/'));
  return (route) => ends.some((end) => route.endsWith(end));
}

/**
 * Leaves the bodies of our own routes unread until their handler reads them: of what a parser of the framework has made, nobody can tell any
 * more which digits a number had, or which bytes a text. To be called before the application is initialized: then this comes before
 * all parsers but those of a server that it was given.
 *
 * @param isOwn whether the path of a route, as it is registered, is one of ours
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

/** What parsers of Express go by: a request that says so has been read. */
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

/** The path of the route that Express is going to find, so that those which are not ours keep their parsers. */
function routeOf({ router }: Express, { method = '', url = '' }: IncomingMessage): unknown {
  const { path } = splitUrl(url);
  try {
    return router.stack.find((layer) => handles(layer, method.toLowerCase()) && layer.match(path))?.route?.path;
  } catch {
    // What cannot be decoded, it refuses.
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

/** By these Fastify knows that a request has a body, and which parser it needs. */
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

/** What is mounted in an application, on Express or Fastify. */
interface Mount<P extends readonly unknown[], H extends { close(): void }> {
  readonly module: Type;
  readonly path: string;
  /** What is answered below that, as both of them write paths. All other paths are the application's. */
  readonly paths: readonly string[];
  /** The parts of the connection that the handler works with. */
  readonly parts: readonly InjectionToken[];
  readonly handler: (...parts: P) => H;
  readonly answer: (handler: H, served: Required<ServedRequest>, asked: FrameworkRequest) => Promise<void>;
  /** When the application shuts down: the hook that closes the handler. */
  readonly closesIn: 'onModuleDestroy' | 'beforeApplicationShutdown';
}

const HANDLER = Symbol.for('nestjs-delay-queue:handler');
const MOUNT = Symbol.for('nestjs-delay-queue:mount');

let mounts = 0;

/** A controller of its own for each mount: an application may have several, each with its connection. */
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
  // It stands in the log of Nest, and guards can go by it.
  Object.defineProperty(MountedController, 'name', { value: module.name.replace('Module', 'Controller') });
  const providers = [
    { provide: HANDLER, useFactory, inject: [...parts] },
    // In no other mount: an application may have Nest tell modules apart by what is in them (`deep-hash`), which takes two mounts of the
    // same connection for one.
    { provide: MOUNT, useValue: ++mounts },
  ];
  return { module, providers, controllers: [MountedController] };
}

/** The options that every mount has. */
interface MountOptions {
  readonly path?: unknown;
  readonly access?: unknown;
}

/** Rules of the options of a mount, and what errors say of them. */
interface MountRules {
  readonly names: readonly string[];
  readonly path: RegExp;
  readonly examplePath: string;
  /** A clause after "whether", of what `access` decides. */
  readonly access: string;
}

/** @throws ConfigurationError if there is another option, the path is none, or nothing decides who may do what: that is never assumed */
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
