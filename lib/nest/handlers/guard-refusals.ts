import type { CanActivate, ExecutionContext } from '@nestjs/common';
import type { ExternalContextCreator } from '@nestjs/core';
import { isError } from '../../checks/kinds.js';
import { CONTEXT_TYPE } from './delay-queue-context.js';

/** The message of Nest's exception for a guard that answered `false`. */
const REFUSAL = 'Forbidden resource';

/** Its status: that of `ForbiddenException`. */
const FORBIDDEN = 403;

/** By the error, the guard that was asked last before it was thrown. */
const guards = new WeakMap<object, CanActivate>();

type GuardsFn = (args: unknown[]) => Promise<void>;

/** A creator whose calls remember which guard has refused, which Nest does not tell. */
export function rememberingGuards(creator: ExternalContextCreator): ExternalContextCreator {
  const createGuardsFn: ExternalContextCreator['createGuardsFn'] = (bound: CanActivate[], ...rest) => {
    if (bound.length === 0) return null;
    return async (args: unknown[]): Promise<void> => {
      let asked: CanActivate | undefined;
      const watched = bound.map((guard) => ({
        canActivate: (context: ExecutionContext) => {
          asked = guard;
          return guard.canActivate(context);
        },
      }));
      const activate = creator.createGuardsFn(watched, ...rest) as GuardsFn;
      try {
        await activate(args);
      } catch (error) {
        if (asked && isRefusal(error)) guards.set(error, asked);
        throw error;
      }
    };
  };
  return Object.create(creator, { createGuardsFn: { value: createGuardsFn } }) as ExternalContextCreator;
}

export function isRefusal(error: unknown): error is Error {
  // The application may have another copy of Nest, or a bundler that shortens the names of classes.
  return isError(error) && error.message === REFUSAL && statusOf(error) === FORBIDDEN;
}

/** What an exception of Nest answers a request with. */
function statusOf(error: Error & { readonly getStatus?: unknown }): unknown {
  return typeof error.getStatus === 'function' ? error.getStatus() : undefined;
}

/** Which guard has refused, and what to do if it should not have. */
export function describeRefusal(refusal: Error): string {
  const name = guards.get(refusal)?.constructor.name;
  const guard = name === undefined || name === '' || name === 'Object' ? 'A guard' : `The guard ${name}`;
  return (
    `${guard} refused the message. If it is meant for requests only, let it answer true if context.getType() is ` +
    `'${CONTEXT_TYPE}'.`
  );
}
