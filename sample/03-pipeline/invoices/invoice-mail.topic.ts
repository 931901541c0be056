import { topic } from 'nestjs-delay-queue';

/** Invoices to be mailed. The webhook publishes whatever it gets, so the handler validates it. */
export const invoiceMail = topic<unknown>('invoice.mail');

/** Header with the tenant of the invoice, in requests and in messages. */
export const TENANT = 'x-tenant';
