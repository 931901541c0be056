import type { Role } from '../scripts/rights.js';
import type { ServerInfo, ServerTraits } from '../connection/server-info.js';

/** A call of one of our scripts that took long. */
export interface SlowCall {
  /** The script's name; `undefined` if it is of another version of this library. */
  readonly script: string | undefined;
  /** Milliseconds. */
  readonly duration: number;
  /** Epoch seconds. */
  readonly at: number;
}

/** Keys that were set aside, as far as they were looked for. */
export interface SetAside {
  readonly keys: readonly string[];
  /** Whether all keys of the server were looked through. */
  readonly complete: boolean;
}

/** Which prefixes have topics on a server, as far as its keys were looked through. */
export interface FoundPrefixes {
  /** Whether this one has; `undefined`: another node of a Cluster knows. */
  readonly isOwn: boolean | undefined;
  /** The others, as they stand in keys; not looked for if this one has. */
  readonly others: readonly string[];
}

/** One Redis server. It is asked for each thing once; every question rejects with NotTold if it gets no answer. */
export interface InspectedNode {
  /** Host and port, or what the connection was given. */
  readonly address: string;
  /** Milliseconds until the server answered. */
  roundTrip(): Promise<number>;
  /** The server's clock minus the wall clock of this machine, in milliseconds. */
  clockOffset(): Promise<number>;
  info(): Promise<ServerInfo>;
  /** What CLUSTER INFO says. */
  clusterInfo(): Promise<ServerInfo>;
  /** The value of a setting. */
  config(name: string): Promise<string>;
  traits(): Promise<ServerTraits>;
  /** Calls TIME within a script. */
  timeInScript(): Promise<void>;
  /** How many of so many replicas confirm in a moment, as WAIT says, that they have what was written. */
  wait(replicas: number): Promise<number>;
  /** Calls of our scripts among the latest that the server calls slow. */
  slowCalls(): Promise<readonly SlowCall[]>;
  setAside(): Promise<SetAside>;
  prefixes(): Promise<FoundPrefixes>;
  /** The number of the database that is used. */
  readonly database: number;
}

/** What a connection leads to: one server, or the masters of a Cluster. */
export interface InspectedServer {
  /** For messages. */
  readonly address: string;
  readonly isClusterClient: boolean;
  /** As it stands in keys. */
  readonly prefix: string;
  /** Whether the signal of {@link echo} goes by sharded pub/sub. */
  readonly isSharded: boolean;
  /** What the one who looks is there for; `undefined`: everything. */
  readonly role: Role | undefined;
  /** At least one. */
  readonly nodes: readonly InspectedNode[];
  /** Tries every command that any role needs, and answers those that were refused, with what Redis said. */
  readonly refusals: () => Promise<readonly string[]>;
  /** Milliseconds until a signal that a script sent has come back on the connection for signals. */
  readonly echo: () => Promise<number>;
}
