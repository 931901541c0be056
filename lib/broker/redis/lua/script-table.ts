// Made from the heads of the scripts by scripts/setup/lua-scripts.mjs; `npm run build` writes it anew.
/* oxlint-disable max-lines -- it has a line for each key and argument of each script */
import acquire from './acquire.lua';
import appendAudit from './append-audit.lua';
import appendEvents from './append-events.lua';
import cancel from './cancel.lua';
import cancelTagged from './cancel-tagged.lua';
import claim from './claim.lua';
import clear from './clear.lua';
import configure from './configure.lua';
import countDue from './count-due.lua';
import dueSchedules from './due-schedules.lua';
import edit from './edit.lua';
import explain from './explain.lua';
import extend from './extend.lua';
import forgetSessions from './forget-sessions.lua';
import get from './get.lua';
import hold from './hold.lua';
import leave from './leave.lua';
import list from './list.lua';
import listTagged from './list-tagged.lua';
import pause from './pause.lua';
import permit from './permit.lua';
import probe from './probe.lua';
import publish from './publish.lua';
import publishOccurrence from './publish-occurrence.lua';
import putSchedule from './put-schedule.lua';
import release from './release.lua';
import removeDead from './remove-dead.lua';
import removeSchedule from './remove-schedule.lua';
import report from './report.lua';
import reportWork from './report-work.lua';
import requeueDead from './requeue-dead.lua';
import reschedule from './reschedule.lua';
import resume from './resume.lua';
import setAside from './set-aside.lua';
import setField from './set-field.lua';
import setKeysAside from './set-keys-aside.lua';
import setLimits from './set-limits.lua';
import settle from './settle.lua';
import stats from './stats.lua';
import trimDead from './trim-dead.lua';
import trimFinished from './trim-finished.lua';

export type Argument = string | number;

/** The scripts by their names. */
export const SCRIPTS = {
  acquire,
  'append-audit': appendAudit,
  'append-events': appendEvents,
  cancel,
  'cancel-tagged': cancelTagged,
  claim,
  clear,
  configure,
  'count-due': countDue,
  'due-schedules': dueSchedules,
  edit,
  explain,
  extend,
  'forget-sessions': forgetSessions,
  get,
  hold,
  leave,
  list,
  'list-tagged': listTagged,
  pause,
  permit,
  probe,
  publish,
  'publish-occurrence': publishOccurrence,
  'put-schedule': putSchedule,
  release,
  'remove-dead': removeDead,
  'remove-schedule': removeSchedule,
  report,
  'report-work': reportWork,
  'requeue-dead': requeueDead,
  reschedule,
  resume,
  'set-aside': setAside,
  'set-field': setField,
  'set-keys-aside': setKeysAside,
  'set-limits': setLimits,
  settle,
  stats,
  'trim-dead': trimDead,
  'trim-finished': trimFinished,
} as const;

/** The keys and arguments that each script takes, by their names. */
export interface ScriptParameters {
  acquire: { owner: string; new_owner: Argument; replaces: Argument; is_first: Argument };
  'append-audit': { audit: string; answered: string; keep: Argument; text: Argument };
  'append-events': {
    events: string;
    keep: Argument;
    process: Argument;
    sequence: Argument;
    count: Argument;
    dropped: Argument;
    entry: Argument;
  };
  cancel: {
    scheduled: string;
    inflight: string;
    messages: string;
    deliveries: string;
    dead: string;
    errors: string;
    keyed: string;
    meta: string;
    blocked: string;
    queues: string;
    places: string;
    running: string;
    resting: string;
    finished: string;
    endings: string;
    tags: string;
    tagged: string;
    answered: string;
    wake_command: Argument;
    channel: Argument;
    sequence: Argument;
    id: Argument;
  };
  'cancel-tagged': {
    scheduled: string;
    inflight: string;
    messages: string;
    deliveries: string;
    dead: string;
    errors: string;
    keyed: string;
    meta: string;
    blocked: string;
    queues: string;
    places: string;
    running: string;
    resting: string;
    finished: string;
    endings: string;
    tags: string;
    tagged: string;
    answered: string;
    wake_command: Argument;
    channel: Argument;
    sequence: Argument;
    tag: Argument;
    after_id: Argument;
  };
  claim: {
    scheduled: string;
    inflight: string;
    messages: string;
    deliveries: string;
    dead: string;
    errors: string;
    keyed: string;
    owner: string;
    meta: string;
    blocked: string;
    queues: string;
    places: string;
    running: string;
    rates: string;
    rated: string;
    resting: string;
    finished: string;
    endings: string;
    tags: string;
    tagged: string;
    handed: string;
    claimant: Argument;
    sequence: Argument;
    delivered: Argument;
    max: Argument;
    lease: Argument;
    room: Argument;
    whole_room: Argument;
    finished_limits: Argument;
    terms: Argument;
  };
  clear: {
    set: string;
    messages: string;
    deliveries: string;
    errors: string;
    keyed: string;
    meta: string;
    scheduled: string;
    inflight: string;
    dead: string;
    blocked: string;
    queues: string;
    places: string;
    running: string;
    resting: string;
    finished: string;
    endings: string;
    tags: string;
    tagged: string;
    answered: string;
    wake_command: Argument;
    channel: Argument;
    sequence: Argument;
    counter: Argument;
  };
  configure: {
    config: string;
    partitions: Argument;
    max_partitions: Argument;
    protocol: Argument;
    max_protocol: Argument;
    order: Argument;
    limits: Argument;
    is_known: Argument;
  };
  'count-due': { scheduled: string; blocked: string; rest: readonly Argument[] };
  'due-schedules': { schedules: string; occurrences: string; limit: Argument; ahead: Argument; skip: Argument };
  edit: {
    scheduled: string;
    blocked: string;
    messages: string;
    meta: string;
    answered: string;
    sequence: Argument;
    id: Argument;
    expected: Argument;
    envelope: Argument;
  };
  explain: {
    scheduled: string;
    inflight: string;
    messages: string;
    deliveries: string;
    dead: string;
    errors: string;
    blocked: string;
    places: string;
    owner: string;
    meta: string;
    resting: string;
    id: Argument;
  };
  extend: { inflight: string; deliveries: string; lease: Argument; rest: readonly Argument[] };
  'forget-sessions': {
    sessions: string;
    handled: string;
    processes: string;
    holdings: string;
    rest: readonly Argument[];
  };
  get: {
    scheduled: string;
    inflight: string;
    messages: string;
    deliveries: string;
    dead: string;
    errors: string;
    keyed: string;
    blocked: string;
    places: string;
    finished: string;
    endings: string;
    meta: string;
    id: Argument;
  };
  hold: { meta: string; answered: string; sequence: Argument; delay: Argument };
  leave: { sessions: string; session: Argument; count: Argument; left_record: Argument };
  list: {
    set: string;
    messages: string;
    deliveries: string;
    errors: string;
    keyed: string;
    limit: Argument;
    max_bytes: Argument;
    since: Argument;
    till: Argument;
    fields: Argument;
    is_dead: Argument;
    after_score: Argument;
    after_id: Argument;
  };
  'list-tagged': {
    scheduled: string;
    inflight: string;
    dead: string;
    blocked: string;
    messages: string;
    deliveries: string;
    errors: string;
    meta: string;
    tags: string;
    tagged: string;
    tag: Argument;
    state: Argument;
    limit: Argument;
    max_bytes: Argument;
    after_id: Argument;
  };
  pause: { meta: string };
  permit: {
    permits: string;
    session: Argument;
    sequence: Argument;
    held: Argument;
    idle: Argument;
    wanted: Argument;
    lease: Argument;
    max_rate: Argument;
    window: Argument;
    most_in_flight: Argument;
    patience: Argument;
    returned: Argument;
    lead: Argument;
    slack: Argument;
    ahead: Argument;
  };
  probe: { key: string; wake_command: Argument; channel: Argument };
  publish: {
    scheduled: string;
    inflight: string;
    messages: string;
    deliveries: string;
    dead: string;
    errors: string;
    keyed: string;
    meta: string;
    blocked: string;
    queues: string;
    places: string;
    running: string;
    resting: string;
    finished: string;
    endings: string;
    tags: string;
    tagged: string;
    answered: string;
    wake_command: Argument;
    channel: Argument;
    sequence: Argument;
    order_mode: Argument;
    due_specs: Argument;
    on_duplicates: Argument;
    max_waits: Argument;
    tag_lists: Argument;
    rest: readonly Argument[];
  };
  'publish-occurrence': {
    scheduled: string;
    inflight: string;
    messages: string;
    deliveries: string;
    dead: string;
    errors: string;
    keyed: string;
    meta: string;
    blocked: string;
    queues: string;
    places: string;
    running: string;
    resting: string;
    finished: string;
    endings: string;
    tags: string;
    tagged: string;
    answered: string;
    owner: string;
    schedules: string;
    occurrences: string;
    wake_command: Argument;
    channel: Argument;
    sequence: Argument;
    order_mode: Argument;
    due_specs: Argument;
    on_duplicates: Argument;
    max_waits: Argument;
    tag_lists: Argument;
    claimant: Argument;
    schedule: Argument;
    expected: Argument;
    state: Argument;
    skipping: Argument;
    next_at: Argument;
    prefix: Argument;
    suffix: Argument;
    rest: readonly Argument[];
  };
  'put-schedule': {
    schedules: string;
    occurrences: string;
    wake_command: Argument;
    channel: Argument;
    id: Argument;
    is_new: Argument;
    expected: Argument;
    state: Argument;
    rest: Argument;
    next_at: Argument;
  };
  release: { owner: string; given_up: Argument; epoch: Argument };
  'remove-dead': {
    dead: string;
    messages: string;
    deliveries: string;
    errors: string;
    keyed: string;
    scheduled: string;
    inflight: string;
    blocked: string;
    queues: string;
    places: string;
    running: string;
    resting: string;
    meta: string;
    tags: string;
    tagged: string;
    answered: string;
    wake_command: Argument;
    channel: Argument;
    sequence: Argument;
    rest: readonly Argument[];
  };
  'remove-schedule': { schedules: string; occurrences: string; answered: string; sequence: Argument; id: Argument };
  report: {
    sessions: string;
    processes: string;
    holdings: string;
    session: Argument;
    number: Argument;
    state: Argument;
    held: Argument;
  };
  'report-work': {
    work: string;
    history: string;
    spans: string;
    session: Argument;
    number: Argument;
    keep: Argument;
    span: Argument;
    keep_history: Argument;
    rest: readonly Argument[];
  };
  'requeue-dead': {
    scheduled: string;
    inflight: string;
    messages: string;
    deliveries: string;
    dead: string;
    errors: string;
    keyed: string;
    meta: string;
    blocked: string;
    queues: string;
    places: string;
    running: string;
    resting: string;
    tags: string;
    tagged: string;
    answered: string;
    wake_command: Argument;
    channel: Argument;
    sequence: Argument;
    delay: Argument;
    rest: readonly Argument[];
  };
  reschedule: {
    scheduled: string;
    inflight: string;
    messages: string;
    deliveries: string;
    dead: string;
    blocked: string;
    queues: string;
    places: string;
    running: string;
    resting: string;
    answered: string;
    wake_command: Argument;
    channel: Argument;
    sequence: Argument;
    id: Argument;
    due_spec: Argument;
    when: Argument;
  };
  resume: { meta: string; wake_command: Argument; channel: Argument };
  'set-aside': {
    scheduled: string;
    inflight: string;
    messages: string;
    deliveries: string;
    dead: string;
    errors: string;
    keyed: string;
    meta: string;
    blocked: string;
    queues: string;
    places: string;
    running: string;
    resting: string;
    wake_command: Argument;
    channel: Argument;
    id: Argument;
    token: Argument;
    failure: Argument;
  };
  'set-field': { record: string; field: Argument; value: Argument };
  'set-keys-aside': { key: string; aside: string; expected_type: Argument };
  'set-limits': { config: string; limits: Argument };
  settle: {
    scheduled: string;
    inflight: string;
    messages: string;
    deliveries: string;
    dead: string;
    errors: string;
    keyed: string;
    meta: string;
    blocked: string;
    queues: string;
    places: string;
    running: string;
    rates: string;
    rated: string;
    resting: string;
    finished: string;
    endings: string;
    tags: string;
    tagged: string;
    answered: string;
    owner: string;
    wake_command: Argument;
    channel: Argument;
    sequence: Argument;
    process: Argument;
    durations: Argument;
    outcomes: Argument;
    tokens: Argument;
    tells: Argument;
    rest: readonly Argument[];
  };
  stats: {
    scheduled: string;
    inflight: string;
    dead: string;
    owner: string;
    meta: string;
    blocked: string;
    finished: string;
  };
  'trim-dead': {
    dead: string;
    messages: string;
    deliveries: string;
    errors: string;
    keyed: string;
    scheduled: string;
    inflight: string;
    blocked: string;
    queues: string;
    places: string;
    running: string;
    resting: string;
    meta: string;
    tags: string;
    tagged: string;
    wake_command: Argument;
    channel: Argument;
    max_age: Argument;
    max_count: Argument;
  };
  'trim-finished': { finished: string; endings: string; messages: string; keyed: string; meta: string };
}
