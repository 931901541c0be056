import {
  All,
  Controller,
  type DynamicModule,
  Inject,
  type InjectionToken,
  Req,
  Res,
  type Type,
  VERSION_NEUTRAL,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { describe } from '../checks/describe.js';
import { asConfiguration, assertOptions } from '../checks/validate.js';
import { ConfigurationError } from '../errors/options.errors.js';
import { WithoutSwagger } from '../nest/decorators/without-swagger.js';
import { type FrameworkRequest, type FrameworkResponse, servedRequest } from './framework.js';
import { leaveBodies, routesAt } from './own-bodies.js';
import type { ServedRequest } from './respond.js';

/** What is mounted in an application, on Express or Fastify. */
export interface Mount<P extends readonly unknown[], H extends { close(): void }> {
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
