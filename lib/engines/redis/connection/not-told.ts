/** A server did not answer a question, or not to this user. The message says which one, and why. */
export class NotTold extends Error {
  /** Whether the server refused to answer, rather than that no answer came. */
  readonly refused: boolean;

  constructor(message: string, { refused, cause }: { refused: boolean; cause?: unknown }) {
    super(message, { cause });
    this.refused = refused;
  }
}
