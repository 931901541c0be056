import { topic } from 'nestjs-delay-queue';

export interface Reminder {
  readonly orderId: string;
  readonly item: string;
}

/** The customer's receipt, by mail. */
export const receiptMail = topic<Reminder>('receipt.mail');

/** Reminds the shop to send the paid goods. */
export const shopReminder = topic<Reminder>('shop.reminder');
