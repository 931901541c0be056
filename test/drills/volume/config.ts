/** The configuration of a program, as JSON in its first argument. */
export interface VolumeConfig {
  readonly name: string;
  readonly redis: string;
  readonly partitions: number;
  readonly historyFile: string;
}

export interface VolumePublisherConfig extends VolumeConfig {
  /** How many messages to publish; their ids are the numbers below. */
  readonly count: number;
}
