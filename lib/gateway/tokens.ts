import { InvalidArgumentError } from '../errors/options.errors.js';
import { Secret } from '../http/secret.js';
import type { GatewayRight } from './access.js';

/** A bearer token, and the rights of its holder. */
export interface GatewayToken {
  /** Its name in the audit log. */
  readonly name?: string | undefined;
  readonly token: string;
  /** Rights by topic; `undefined`: everything. */
  readonly rights?: ReadonlyMap<string, readonly GatewayRight[]> | undefined;
}

/** Form of a token that a header can carry (RFC 6750). */
const TOKEN = /^[A-Za-z0-9\-._~+/]+=*$/;

/**
 * @param name name of the token in errors, which do not show it
 * @throws InvalidArgumentError
 */
export function assertToken(name: string, token: unknown): asserts token is string {
  if (typeof token === 'string' && token.length <= 1024 && TOKEN.test(token)) return;
  throw new InvalidArgumentError(
    `${name} must be 1 to 1024 characters of A-Z a-z 0-9 - . _ ~ + / with = at its end at most. It is not shown, since it is a secret.`,
  );
}

/** Most headers to remember. Each token has one, unless clients write it in different ways. */
const MAX_SEEN = 1000;

/** The known tokens. */
export class KnownTokens {
  readonly #known: readonly { readonly token: GatewayToken; readonly secret: Secret }[];
  /** Tokens by the headers that had them, so that not every request compares them. Only a complete header finds one. */
  readonly #seen = new Map<string, GatewayToken>();

  constructor(tokens: readonly GatewayToken[]) {
    this.#known = tokens.map((token) => ({ token, secret: new Secret(token.token) }));
  }

  /** Returns the token of a request; `undefined` if it has none of them. */
  find(authorization = ''): GatewayToken | undefined {
    const seen = this.#seen.get(authorization);
    if (seen) return seen;
    const found = this.#compare(authorization);
    if (found && this.#seen.size < MAX_SEEN) this.#seen.set(authorization, found);
    return found;
  }

  /** Compares all of them, so that the time reveals nothing. */
  #compare(authorization: string): GatewayToken | undefined {
    const [, given] = /^Bearer +(\S+) *$/i.exec(authorization) ?? [];
    if (given === undefined) return undefined;
    const guess = new Secret(given);
    let found: GatewayToken | undefined;
    for (const { token, secret } of this.#known) if (secret.equals(guess)) found = token;
    return found;
  }
}

export function mayUse({ rights }: GatewayToken, topic: string, right: GatewayRight): boolean {
  return rights === undefined || (rights.get(topic)?.includes(right) ?? false);
}
