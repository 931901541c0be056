import { createHash } from 'node:crypto';
import acquire from './lua/acquire.lua';
import appendEvents from './lua/append-events.lua';
import cancel from './lua/cancel.lua';
import claim from './lua/claim.lua';
import clear from './lua/clear.lua';
import configure from './lua/configure.lua';
import edit from './lua/edit.lua';
import extend from './lua/extend.lua';
import get from './lua/get.lua';
import join from './lua/join.lua';
import leave from './lua/leave.lua';
import listDead from './lua/list-dead.lua';
import noteTopic from './lua/note-topic.lua';
import pause from './lua/pause.lua';
import peek from './lua/peek.lua';
import probe from './lua/probe.lua';
import publish from './lua/publish.lua';
import release from './lua/release.lua';
import removeDead from './lua/remove-dead.lua';
import requeueDead from './lua/requeue-dead.lua';
import reschedule from './lua/reschedule.lua';
import resume from './lua/resume.lua';
import setAside from './lua/set-aside.lua';
import setKeysAside from './lua/set-keys-aside.lua';
import settle from './lua/settle.lua';
import stats from './lua/stats.lua';
import trimDead from './lua/trim-dead.lua';

/** The scripts by their names, each with its includes in place; the build makes modules of them. */
const SOURCES = {
  acquire,
  'append-events': appendEvents,
  cancel,
  claim,
  clear,
  configure,
  edit,
  extend,
  get,
  join,
  leave,
  'list-dead': listDead,
  'note-topic': noteTopic,
  pause,
  peek,
  probe,
  publish,
  release,
  'remove-dead': removeDead,
  'requeue-dead': requeueDead,
  reschedule,
  resume,
  'set-aside': setAside,
  'set-keys-aside': setKeysAside,
  settle,
  stats,
  'trim-dead': trimDead,
} as const;

export type ScriptName = keyof typeof SOURCES;

export const SCRIPT_NAMES = Object.keys(SOURCES) as readonly ScriptName[];

/** A Lua script, ready to be sent. */
export interface Script {
  readonly name: ScriptName;
  readonly source: string;
  readonly sha: string;
}

/** @param firstLine comes before all else, as script flags have to */
export function scriptOf(name: ScriptName, firstLine = ''): Script {
  const source = firstLine + SOURCES[name];
  return { name, source, sha: createHash('sha1').update(source).digest('hex') };
}
