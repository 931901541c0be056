import type { Role } from '../scripts/rights.js';
import type { ServerInfo, ServerTraits } from '../connection/server-info.js';

/** A slow call of one of our scripts. */
export interface SlowCall {
  /** The script's name; `undefined` if it is of another version of this library. */
  readonly script: string | undefined;
  /** Milliseconds. */
  readonly duration: number;
  /** Epoch seconds. */
  readonly at: number;
}

/** Keys that were set aside, as far as the search went. */
export interface SetAside {
  readonly keys: readonly string[];
  /** Whether the search went through all keys of the server. */
  readonly complete: boolean;
}

/** Prefixes that have topics on a server, as far as its keys were looked through. */
export interface FoundPrefixes {
  /** Whether this prefix has topics; `undefined`: another node of a Cluster knows. */
  readonly isOwn: boolean | undefined;
  /** The others, as they stand in keys; empty without a search if this one has topics. */
  readonly others: readonly string[];
}

/** One Redis server. It is asked for each thing once; every question rejects with NotTold if it gets no answer. */
export interface InspectedNode {
  /** Host and port, or the address that the connection was given. */
  readonly address: string;
  /** Returns the milliseconds until the server answered. */
  roundTrip(): Promise<number>;
  /** Returns the server's clock minus the wall clock of this machine, in milliseconds. */
  clockOffset(): Promise<number>;
  info(): Promise<ServerInfo>;
  /** Returns the answer of CLUSTER INFO. */
  clusterInfo(): Promise<ServerInfo>;
  /** Returns the value of a setting. */
  config(name: string): Promise<string>;
  traits(): Promise<ServerTraits>;
  /** Calls TIME within a script. */
  timeInScript(): Promise<void>;
  /** Returns how many replicas, of the given number at most, confirm within a moment, by WAIT, that they have what was written. */
  wait(replicas: number): Promise<number>;
  /** Returns the calls of our scripts among the latest that the server calls slow. */
  slowCalls(): Promise<readonly SlowCall[]>;
  setAside(): Promise<SetAside>;
  prefixes(): Promise<FoundPrefixes>;
  /** The number of the database that is used. */
  readonly database: number;
}

/** Target of a connection: one server, or the masters of a Cluster. */
export interface InspectedServer {
  /** For messages. */
  readonly address: string;
  readonly isClusterClient: boolean;
  /** As it stands in keys. */
  readonly prefix: string;
  /** Whether the signal of {@link echo} goes by sharded pub/sub. */
  readonly isSharded: boolean;
  /** Role of the caller; `undefined`: every role. */
  readonly role: Role | undefined;
  /** At least one. */
  readonly nodes: readonly InspectedNode[];
  /** Tries every command that any role needs, and returns those that were refused, with the error of Redis. */
  readonly refusals: () => Promise<readonly string[]>;
  /** Returns the milliseconds until the signal of a script has come back on the connection for signals. */
  readonly echo: () => Promise<number>;
}
