/** Exit codes of the process. Scripts branch on these numbers, so they stay; docs/reference/command-line.md has the same. */
export const EXIT = {
  /** The command succeeded. */
  done: 0,
  /** The answer is no: there is no such message, topic or schedule, it is in another state, or the doctor has found an error. */
  no: 1,
  /** The command cannot be understood, or an argument is wrong. Nothing was sent. */
  usage: 2,
  /** Redis cannot be reached, or did not answer in time; or a part of it, and the rest was printed. */
  unavailable: 3,
  /** It was not confirmed. Nothing was changed. */
  unconfirmed: 4,
  /** Redis, its user or a topic is set up so that this cannot work. */
  configuration: 5,
  /** A fault of this program. */
  internal: 70,
  /** The results cannot be written, as to a disk that is full. Changes made so far stay. */
  output: 74,
  /** It was interrupted; changes made by then stay. */
  interrupted: 130,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];
