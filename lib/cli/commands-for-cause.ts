import type { ExplainCause, ExplainFacts, MessageDetails } from '../admin/index.js';
import { shown } from './text.js';

/** Parts that commands name. */
interface Named {
  readonly topic: string;
  /** Id, and key if it has one of its own. */
  readonly message: string;
  readonly facts: ExplainFacts;
}

const ofFleet = ({ topic }: Named): string[] => [`fleet ${topic}`];

/** The commands that follow the advice. */
const COMMANDS: Readonly<Record<ExplainCause, (named: Named) => readonly string[]>> = {
  'unknown-id': ({ topic, facts }) => [`search ${topic} --text ${word(facts.id)}`],
  finished: ({ topic, message }) => [`get ${topic} ${message}`],
  dead: ({ topic, message }) => [`get ${topic} ${message}`, `requeue ${topic} --id ${message}`],
  running: ({ topic, message }) => [`cancel ${topic} ${message}`],
  retrying: ({ topic, message }) => [`get ${topic} ${message}`, `run-now ${topic} ${message}`],
  'not-due': ({ topic, message }) => [`run-now ${topic} ${message}`, `reschedule ${topic} ${message} --delay 10m`],
  paused: ({ topic }) => [`resume ${topic}`],
  'no-consumer': ofFleet,
  'no-owner': ofFleet,
  'owner-silent': ofFleet,
  'blocked-by-key': ({ topic, facts: { blockedBy = '', key = '' } }) => [
    `explain ${topic} ${word(blockedBy)} --key ${word(key)}`,
  ],
  'rate-limited': ({ topic, facts }) => [facts.heldUntil === undefined ? `stats ${topic}` : `resume ${topic}`],
  'max-in-flight': ({ topic }) => [`peek ${topic} --state in-flight`],
  starved: ofFleet,
  behind: ({ topic }) => [`fleet ${topic}`, `peek ${topic} --state in-flight`],
};

export function commandsFor(cause: ExplainCause, facts: ExplainFacts): readonly string[] {
  const { topic, id, key = id } = facts;
  return COMMANDS[cause]({ topic, message: named({ id, key }), facts });
}

/** Returns the command that explains why a message waits. */
export function explaining({ topic, id, key }: MessageDetails): string {
  return `explain ${topic} ${named({ id, key })}`;
}

function named({ id, key }: { readonly id: string; readonly key: string }): string {
  return key === id ? word(id) : `${word(id)} --key ${word(key)}`;
}

/** Quotes a text as one word of a shell. */
function word(text: string): string {
  return /^[\w.:@/][\w.:@/-]*$/.test(text) ? text : `'${shown(text).replaceAll("'", `'\\''`)}'`;
}
