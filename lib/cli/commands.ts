import { actingOn } from './acting.js';
import type { AddCommand } from './command.js';
import { acl } from './commands/acl.js';
import { agenda } from './commands/agenda.js';
import { audit } from './commands/audit.js';
import { complete, completion } from './commands/completion.js';
import { dashboard } from './commands/dashboard.js';
import { dead } from './commands/dead.js';
import { doctor } from './commands/doctor.js';
import { events } from './commands/events.js';
import { explain } from './commands/explain.js';
import { fleet } from './commands/fleet.js';
import { gateway } from './commands/gateway.js';
import { get } from './commands/get.js';
import { importBullmq } from './commands/import-bullmq.js';
import { outbox } from './commands/outbox.js';
import { peek } from './commands/peek.js';
import { publish } from './commands/publish.js';
import { schedules } from './commands/schedules.js';
import { search } from './commands/search.js';
import { stats } from './commands/stats.js';
import { top } from './commands/top.js';
import { topics } from './commands/topics.js';

/** Commands in the order of the help: those that look, then those that act on a message, on dead letters, on a topic, on schedules. */
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
  ...actingOn('messages', 'message'),
  dead,
  ...actingOn('deadLetters'),
  ...actingOn('topic'),
  ...actingOn('state'),
  schedules,
  importBullmq,
  outbox,
  acl,
  completion,
  complete,
];
