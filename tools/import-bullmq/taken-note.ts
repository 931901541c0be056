/** Place of a job's message, noted once the message was seen there. */
export interface StoredNote {
  readonly topic: string;
  readonly id: string;
  /** Maker that stored it. */
  readonly maker: string;
  /** Life of its partition at that time. */
  readonly life: string;
}

/**
 * Note about a job that was taken out of BullMQ's hands. `taken`: it may have a message, which nobody handles. `stored`: it has
 * one. `sent`: that message may have been moved to its time, and so been handled. `unknown`: the note has no form that this version
 * knows.
 */
export interface Note {
  /** The note as stored, and compared. */
  readonly text: string;
  readonly state: 'taken' | 'stored' | 'sent' | 'unknown';
  /** Name of this taking of the job: a job that is added again under its id is taken under another name. */
  readonly taking: string;
  /** The stored message, unless the job is only taken. */
  readonly stored?: StoredNote;
}

/** A note of a job whose message was seen. */
export type NoteOfStored = Note & { readonly stored: StoredNote };

export function hasStored(note: Note | undefined): note is NoteOfStored {
  return note?.stored !== undefined;
}

/** Form of a note; the score in `delayed` is in the middle, for giving the job back. */
const NOTE = /^(?:(taken) (\S+) (\S+)|(stored|sent) (\S+) (\S+) (\{.*\}))$/s;

export function parseNote(text: string): Note {
  const [, taken, , taking, state, , takingOfStored = '', json = ''] = NOTE.exec(text) ?? [];
  if (taken !== undefined && taking !== undefined) return { text, state: 'taken', taking };
  const stored = parsed(json);
  if (stored === undefined) return { text, state: 'unknown', taking: '' };
  return { text, state: state as 'stored' | 'sent', taking: takingOfStored, stored };
}

function parsed(json: string): StoredNote | undefined {
  try {
    return JSON.parse(json) as StoredNote;
  } catch {
    return undefined;
  }
}

/** Returns the note that follows a note. */
export function nextNote({ text }: Note, state: 'stored' | 'sent', stored: StoredNote): NoteOfStored {
  const [, score = '', taking = ''] = text.split(' ', 3);
  return { text: `${state} ${score} ${taking} ${JSON.stringify(stored)}`, state, taking, stored };
}
