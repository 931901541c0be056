import { Injectable } from '@nestjs/common';

export interface Mail {
  readonly to: string;
  readonly text: string;
}

/** Stands for a mail server. */
@Injectable()
export class MailService {
  readonly sent: Mail[] = [];

  async send(mail: Mail): Promise<void> {
    this.sent.push(mail);
  }
}
