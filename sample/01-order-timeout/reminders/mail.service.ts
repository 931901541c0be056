import { Injectable } from '@nestjs/common';

export interface Mail {
  /** A second mail with the same key is not sent. */
  readonly idempotencyKey: string;
  readonly text: string;
}

const REFUSALS = 2;

/** Stands for a mail server with greylisting, which refuses every mail twice before it takes it. */
@Injectable()
export class MailService {
  private readonly tries = new Map<string, number>();

  async send({ idempotencyKey }: Mail): Promise<void> {
    const tries = (this.tries.get(idempotencyKey) ?? 0) + 1;
    this.tries.set(idempotencyKey, tries);
    if (tries <= REFUSALS) throw new Error('451 greylisted, come back later');
  }
}
