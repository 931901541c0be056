/** The keys of a queue of BullMQ or Bull, and those of an import beside them. All begin alike, so they share the hash tag of the prefix. */
export interface BullKeys {
  /** What every key of the queue begins with. */
  readonly base: string;
  /** ZSET: job → its due time, see {@link dueTimeOf} */
  readonly delayed: string;
  /** ZSET: job → its priority */
  readonly prioritized: string;
  /** LIST: the jobs that wait, the next one at the end */
  readonly wait: string;
  /** LIST: the same while the queue is paused, in older versions */
  readonly paused: string;
  /** LIST: the jobs that run */
  readonly active: string;
  /** ZSET: parents whose children are not done */
  readonly waitingChildren: string;
  /** ZSET: job schedulers and repeatable jobs → when they are due next */
  readonly repeat: string;
  /** HASH: what BullMQ knows of the queue */
  readonly meta: string;
  /** STRING: the latest number of a job */
  readonly id: string;
  /** ZSET: jobs that are in neither of the two queues, or nobody knows in which */
  readonly taken: string;
  /** ZSET: jobs whose message is there and is not due before it is released */
  readonly parked: string;
  /** SET: jobs that this run has given back, which it must not take again */
  readonly refused: string;
  /** HASH: where the import goes, and what it has done so far */
  readonly settings: string;
  /** STRING with PX: who imports */
  readonly lock: string;
  /** What the keys of taken jobs begin with. */
  readonly jobBase: string;
}

export function bullKeys(prefix: string, queue: string): BullKeys {
  const base = `${prefix}:${queue}:`;
  // No id of a job has a colon behind such a word, and BullMQ takes no such key for an orphan.
  const own = `${base}delay-queue-import:`;
  return {
    base,
    delayed: `${base}delayed`,
    prioritized: `${base}prioritized`,
    wait: `${base}wait`,
    paused: `${base}paused`,
    active: `${base}active`,
    waitingChildren: `${base}waiting-children`,
    repeat: `${base}repeat`,
    meta: `${base}meta`,
    id: `${base}id`,
    taken: `${own}taken`,
    parked: `${own}parked`,
    refused: `${own}refused`,
    settings: `${own}settings`,
    lock: `${own}lock`,
    jobBase: `${own}job:`,
  };
}
