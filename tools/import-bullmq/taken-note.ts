/** Where the message of a job is, as it was noted once it was seen there. */
export interface StoredNote {
  readonly topic: string;
  readonly id: string;
  /** Who has stored it. */
  readonly maker: string;
  /** What its partition's life was then. */
  readonly life: string;
}

/**
 * What is noted of a job that was taken out of BullMQ's hands. `taken`: it may have a message, which nobody handles. `stored`: it
 * has. `sent`: that message may have been moved to its time, and so be handled. `unknown`: no import has noted it that this
 * version knows.
 */
export interface Note {
  /** As it is stored, and compared. */
  readonly text: string;
  readonly state: 'taken' | 'stored' | 'sent' | 'unknown';
  /** Names this time that the job was taken: one that is added again under its id is taken under another name. */
  readonly taking: string;
  /** Unless it is only taken. */
  readonly stored?: StoredNote;
}

/** A note of a job whose message was seen. */
export type NoteOfStored = Note & { readonly stored: StoredNote };

export function hasStored(note: Note | undefined): note is NoteOfStored {
  return note?.stored !== undefined;
}

/** The score in `delayed` is in between, for those who give the job back. */
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

/** The note that follows a note. */
export function nextNote({ text }: Note, state: 'stored' | 'sent', stored: StoredNote): NoteOfStored {
  const [, score = '', taking = ''] = text.split(' ', 3);
  return { text: `${state} ${score} ${taking} ${JSON.stringify(stored)}`, state, taking, stored };
}
