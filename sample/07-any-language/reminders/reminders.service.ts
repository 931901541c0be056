import { Injectable } from '@nestjs/common';
import { DelayedHandler, type DelayedMessage } from 'nestjs-delay-queue';
import { type Reminder, reminderSend } from './reminder.topic.js';

interface SentReminder extends Reminder {
  readonly dueAt: Date;
}

@Injectable()
export class RemindersService {
  readonly sent: SentReminder[] = [];

  @DelayedHandler(reminderSend)
  send(reminder: Reminder, { dueAt }: DelayedMessage): void {
    this.sent.push({ ...reminder, dueAt });
  }
}
