import type { Failure } from '../messages/failure.js';
import type { AuditPage, AuditQuery, AuditRecord } from './audit.interface.js';
import type {
  AcquireResult,
  FleetLook,
  FleetSignal,
  Heartbeat,
  SessionRecord,
  TopicConfig,
  TopicList,
  TopicTerms,
} from './fleet.interface.js';
import type { Limits, PermitReply, PermitRequest } from './limits.interface.js';
import type {
  CallId,
  ClaimRequest,
  ClaimResult,
  ExtendStatus,
  Partition,
  Receipt,
  SettleAnswer,
  Settlement,
  TopicOrder,
} from './message-calls.interface.js';
import type { MessageOperations } from './message-operations.interface.js';
import type { Owner } from './owner.js';
import type { ProcessReport, ReportedProcess, ReportedWork, SpanOfWork, WorkReport } from './reports.interface.js';
import type {
  DueSchedules,
  ScheduleLook,
  FoundSchedule,
  IndexedSchedule,
  Occurrence,
  OccurrenceResult,
  ScheduleName,
  SchedulePlace,
  ScheduleWrite,
} from './schedules.interface.js';
import type { DeadLetterPage, DeadLetterQuery, Death, Requeue, RetentionLimits } from './stored-message.interface.js';

/** From the claim of a message to its settle, and what holds claims back. */
export interface DeliveryOperations {
  claim(partition: Partition, request: ClaimRequest): Promise<ClaimResult>;
  /**
   * Answers in the order of the settlements, 1 to `MAX_BATCH`. `settleAll` sends again what is left for later.
   *
   * @param process that has handled the messages, for what is kept of those that are finished
   * @param owner as whom the caller owns the partition: then those who watch it here are told what is due by then, and no signal is sent
   */
  settle(
    partition: Partition,
    call: CallId,
    settlements: readonly Settlement[],
    process?: string,
    owner?: Owner,
  ): Promise<SettleAnswer[]>;
  /** Answers in the order of the receipts, at most `MAX_BATCH`. `lease` in milliseconds from now. */
  extend(partition: Partition, lease: number, receipts: readonly Receipt[]): Promise<ExtendStatus[]>;
  /**
   * Makes a dead letter of a message that cannot be claimed or settled, whatever is stored of it; its envelope stays as it is,
   * and no attempt is spent.
   *
   * @param receipt of its current delivery; with {@link NO_TOKEN}, of a message that is due or whose lease has ended
   * @returns the stored id of the dead letter, which is a new one if the message's was not text; `undefined` if it was not
   * set aside, since it is gone, or no longer what the receipt says
   */
  setAside(partition: Partition, receipt: Receipt, failure: Failure): Promise<string | undefined>;
  /** From the next claim on nothing is handed out; what is in flight goes on. Lasts until {@link resume}. */
  pause(partition: Partition, call: CallId): Promise<void>;
  /** Ends a pause and a hold, and signals the owner. */
  resume(partition: Partition, call: CallId): Promise<void>;
  /**
   * Hands nothing out for `delay` milliseconds, also if an earlier hold ends before; what is in flight goes on.
   *
   * @returns until when, epoch milliseconds
   */
  hold(partition: Partition, call: CallId, delay: number): Promise<number>;
  /** Permits a process deliveries of a topic, within the limits that all of them share; what it says that it holds counts. */
  permit(topic: string, request: PermitRequest): Promise<PermitReply>;
  /** The sessions that wait for permits of a topic, each with the limit that it waits for. */
  waitingForPermits(topic: string): Promise<ReadonlyMap<string, keyof Limits>>;
}

/** Dead letters, and the finished messages that are kept. */
export interface DeadLetterOperations {
  listDead(partition: Partition, query: DeadLetterQuery): Promise<DeadLetterPage>;
  /**
   * Schedules dead letters again, due after `delay` milliseconds, with no attempt spent. All else stays as it is.
   *
   * @param deaths 1 to `MAX_BATCH`; one at most with an envelope
   * @returns in their order, whether each was requeued; `false` if it is gone
   */
  requeueDead(partition: Partition, call: CallId, deaths: readonly Requeue[], delay: number): Promise<boolean[]>;
  /**
   * Removes dead letters for good.
   *
   * @param deaths 1 to `MAX_BATCH`
   * @returns in their order, whether each was removed; `false` if it is gone
   */
  removeDead(partition: Partition, call: CallId, deaths: readonly Death[]): Promise<boolean[]>;
  /**
   * Removes the dead letters that are over the limits; some hundred at a time. Answers when to come again (epoch
   * milliseconds), `undefined` if nothing is left that will expire.
   */
  trimDead(partition: Partition, limits: RetentionLimits): Promise<number | undefined>;
  /**
   * Removes what is kept of finished messages beyond the limits that the owner's claims have set; some hundred at a time. Answers as
   * {@link trimDead}, and 0 if there is more to do at once.
   */
  trimFinished(partition: Partition): Promise<number | undefined>;
}

export interface ScheduleOperations {
  /**
   * Enters a schedule into the list of all of them, unless it is there.
   *
   * @returns what is in the list
   */
  indexSchedule(schedule: IndexedSchedule): Promise<SchedulePlace>;
  unindexSchedule(schedule: ScheduleName): Promise<void>;
  /** Where the list says that a schedule is kept. */
  findSchedule(schedule: ScheduleName): Promise<SchedulePlace | undefined>;
  /** All schedules of the list, in the order of their ids. */
  listSchedules(): Promise<IndexedSchedule[]>;
  /** @param ids 1 to `MAX_BATCH` */
  getSchedules(partition: Partition, ids: readonly string[]): Promise<(FoundSchedule | undefined)[]>;
  /** Writes a schedule if it is as it was seen, and signals the owner; answers whether it was written. */
  putSchedule(partition: Partition, call: CallId, write: ScheduleWrite): Promise<boolean>;
  /** Answers whether it was there. What it has published stays. */
  removeSchedule(partition: Partition, call: CallId, id: string): Promise<boolean>;
  /** At most `MAX_DUE_SCHEDULES`, or 1 MiB of them. */
  dueSchedules(partition: Partition, look?: ScheduleLook): Promise<DueSchedules>;
  /** Publishes an occurrence of a schedule and writes the schedule's new state: both, or neither. */
  publishOccurrence(partition: Partition, call: CallId, occurrence: Occurrence): Promise<OccurrenceResult>;
}

/** Topics, the sessions of processes, and who owns which partition. */
export interface FleetOperations {
  /** The topics that were ever used, in the order of their bytes. */
  topics(): Promise<string[]>;
  /**
   * Fixes the number of partitions of a topic, and its order, at its first use and answers what is stored. It is stored twice:
   * whichever copy is missing is written again from the other.
   *
   * @param partitions the number wanted if the topic is new
   * @param order the order wanted then
   * @param terms wanted then
   */
  configure(topic: string, partitions: number, order?: TopicOrder, terms?: TopicTerms): Promise<TopicConfig>;
  /** Stores other terms with a topic; without limits it has none. */
  setTerms(topic: string, terms: TopicTerms): Promise<void>;
  /** What is stored of a topic; `undefined` if it was never used. */
  configOf(topic: string): Promise<TopicConfig | undefined>;
  /** The same for many topics, in their order, in calls of up to 1,000. It is not looked whether both copies are there. */
  configsOf(topics: readonly string[]): Promise<(TopicConfig | undefined)[]>;

  /** Says that this process lives, and looks who else does. */
  heartbeat(heartbeat: Heartbeat): Promise<FleetLook>;
  /**
   * Says that a process has left, unless its session was renewed after this heartbeat; the session is shown as such until somebody
   * forgets it.
   */
  leave(heartbeat: Heartbeat): Promise<void>;
  /** Removes sessions that have left or ended, and topic lists that no session names any more. */
  forget(sessions: readonly string[]): Promise<void>;
  /** All sessions, for those who look once; sorted by name. */
  sessions(): Promise<SessionRecord[]>;
  rememberTopics(list: TopicList): Promise<void>;
  /** The lists of topics under these digests, in their order; `undefined` for those that are not there. */
  rememberedTopics(digests: readonly string[]): Promise<(readonly string[] | undefined)[]>;
  /** Sends a signal to one session, or to all. */
  tell(signal: FleetSignal): Promise<void>;
  /**
   * Makes `owner` the owner of a partition, if what is stored of its owner is exactly `replaces`; answers the repeat of a call
   * that has succeeded as the call.
   *
   * @param replaces `undefined` if nothing is to be stored
   */
  acquire(partition: Partition, owner: Owner, replaces: Owner | undefined): Promise<AcquireResult>;
  /** Gives a partition up, if exactly this is stored as its owner. The epoch stays. */
  release(partition: Partition, owner: Owner): Promise<void>;
}

/** What processes say of themselves, and what operators did: for those who look, and nothing else depends on it. */
export interface RecordOperations {
  /**
   * Notes what a process says of itself; {@link forget} removes it.
   *
   * @returns whether its session is stored; without one nothing is noted
   */
  report(report: ProcessReport): Promise<boolean>;
  /** Notes what a process did in a minute. It is kept for `MINUTES_KEPT` minutes, and summed up in the history if there is one. */
  reportWork(report: WorkReport): Promise<void>;
  /** What the processes of these sessions have said of themselves, in their order. */
  reportedProcesses(sessions: readonly string[]): Promise<ReportedProcess[]>;
  /**
   * What all processes did in a minute since the epoch, also those that have gone.
   *
   * @param topic only for this one
   */
  reportedWork(minute: number, topic?: string): Promise<ReportedWork[]>;
  /**
   * What the history tells of a topic, in no order. Of the buckets of lateness, four are joined to one.
   *
   * @param minute the last one, since the epoch
   */
  historyOf(topic: string, minute: number): Promise<SpanOfWork[]>;
  /** Writes down what an operator did; about the latest 10,000 records are kept. */
  appendAudit(record: AuditRecord): Promise<void>;
  /** What operators did, the latest first. */
  auditRecords(query: AuditQuery): Promise<AuditPage>;
}

/**
 * What the runtime asks of the place where messages are kept. Each operation takes a bounded amount of work, rejects with
 * `BrokerUnavailableError` if the broker cannot be reached, and may be repeated with the same arguments without harm.
 */
export interface BrokerOperations
  extends
    MessageOperations,
    DeliveryOperations,
    DeadLetterOperations,
    ScheduleOperations,
    FleetOperations,
    RecordOperations {
  /** @throws BrokerUnavailableError; ConfigurationError if the server is too old */
  connect(): Promise<void>;
}

/**
 * What an application asks of its broker. `settle` carries the outcomes of handlers, `extend` renews leases, `setAside` makes
 * a dead letter of a message that cannot be claimed or settled, `configure` fixes the partitions of a topic; `permit` asks for
 * deliveries within the limits of a topic, which `setTerms` stores, and `hold` stops a partition for a while; `heartbeat`, `leave`
 * and `forget` are about the sessions of processes, `acquire` and `release` about who owns which partition. `publishOccurrence`
 * publishes for a schedule, and `putSchedule` changes one.
 *
 * @publicApi
 */
export type BrokerOperation = keyof BrokerOperations;
