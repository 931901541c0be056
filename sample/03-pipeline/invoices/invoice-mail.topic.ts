import { topic } from 'nestjs-delay-queue';

/** Invoices to be mailed. Whatever a client sends is published, so it is the handler that finds out what it is. */
export const invoiceMail = topic<unknown>('invoice.mail');

/** Header with the tenant whose invoice it is, in requests and messages alike. */
export const TENANT = 'x-tenant';
