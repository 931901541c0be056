import type { AddCommand } from './command.js';
import { acl } from './commands/acl.js';
import { agenda } from './commands/agenda.js';
import { audit } from './commands/audit.js';
import { cancel } from './commands/cancel.js';
import { complete } from './commands/complete.js';
import { completion } from './commands/completion.js';
import { dashboard } from './commands/dashboard.js';
import { dead } from './commands/dead.js';
import { doctor } from './commands/doctor.js';
import { drain } from './commands/drain.js';
import { edit } from './commands/edit.js';
import { events } from './commands/events.js';
import { explain } from './commands/explain.js';
import { fleet } from './commands/fleet.js';
import { gateway } from './commands/gateway.js';
import { get } from './commands/get.js';
import { hold } from './commands/hold.js';
import { importBullmq } from './commands/import-bullmq.js';
import { pause } from './commands/pause.js';
import { peek } from './commands/peek.js';
import { publish } from './commands/publish.js';
import { purge } from './commands/purge.js';
import { remove } from './commands/remove.js';
import { requeue } from './commands/requeue.js';
import { reschedule } from './commands/reschedule.js';
import { resume } from './commands/resume.js';
import { runNow } from './commands/run-now.js';
import { schedules } from './commands/schedules.js';
import { search } from './commands/search.js';
import { stats } from './commands/stats.js';
import { top } from './commands/top.js';
import { topics } from './commands/topics.js';

/** In the order in which the help names them: what looks, then what acts on a message, on dead letters, on a topic, on schedules. */
export const COMMANDS: readonly AddCommand[] = [
  topics,
  stats,
  top,
  agenda,
  peek,
  search,
  get,
  explain,
  fleet,
  events,
  audit,
  doctor,
  dashboard,
  gateway,
  publish,
  cancel,
  reschedule,
  runNow,
  edit,
  dead,
  requeue,
  remove,
  pause,
  hold,
  resume,
  drain,
  purge,
  schedules,
  importBullmq,
  acl,
  completion,
  complete,
];
