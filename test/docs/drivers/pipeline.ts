import {
  Controller,
  Get,
  Inject,
  Injectable,
  type NestInterceptor,
  NotFoundException,
  UseGuards,
  UseInterceptors,
} from '@nestjs/common';
import { APP_FILTER, APP_GUARD } from '@nestjs/core';
import { IsString } from 'class-validator';
import { DelayedHandler, type DelayedMessage, UnrecoverableError } from 'nestjs-delay-queue';
import { expect, it, vi } from 'vitest';
import { bootApplication, request, serveApplication } from '../../support/docs/application.js';
import type { DrivenDocument, Run } from '../../support/docs/driven-document.js';
import { classIn } from '../../support/docs/run-block.js';
import { status, stubFetch } from '../../support/docs/stub-fetch.js';

export function pipeline(document: DrivenDocument): void {
  document.drive('Guards #1', guard);
  document.drive('Interceptors #1', interceptor);
  document.drive('Exception filters #1', filter);
  document.drive('Parameter decorators #1', parameters);
  document.drive('Request scope #1', requestScope);
}

/** Serves a request, and handles messages. */
@Controller('reports')
class Reports {
  readonly written: unknown[] = [];

  @Get()
  list(): unknown[] {
    return this.written;
  }

  @DelayedHandler('report.due')
  write(month: string): void {
    this.written.push(month);
  }
}

function guard(run: Run): void {
  it('lets messages of a tenant pass, and makes a dead letter of others', async () => {
    const TenantGuard = classIn(await run(), 'TenantGuard');

    @Injectable()
    @UseGuards(TenantGuard)
    class GuardedReports extends Reports {}

    const { app, harness, producer } = await bootApplication({ providers: [GuardedReports] });
    await producer.publish('report.due', 'May', { headers: { tenant: 'acme' } });
    await producer.publish('report.due', 'June', { id: 'nobody' });
    await harness.settle();

    expect(app.get(GuardedReports).written).toEqual(['May']);
    expect(harness.deadLetters('report.due')).toMatchObject([{ id: 'nobody' }]);
  });

  it('lets requests pass where it is global', async () => {
    const guardClass = { provide: APP_GUARD, useClass: classIn(await run(), 'TenantGuard') };
    const { harness, producer, url } = await serveApplication({ controllers: [Reports], providers: [guardClass] });
    await producer.publish('report.due', 'May');
    await harness.settle();

    expect(harness.deadLetters('report.due')).toHaveLength(1);
    expect(await (await request(`${url}/reports`)).json()).toEqual([]);
  });
}

function interceptor(run: Run): void {
  it('logs how long each attempt took', async () => {
    const TimingInterceptor = classIn<NestInterceptor>(await run(), 'TimingInterceptor');
    const log = vi.spyOn(console, 'log').mockReturnValue();

    @Injectable()
    class Jobs {
      @DelayedHandler('jobs')
      @UseInterceptors(TimingInterceptor)
      async work(_payload: unknown, { attempt }: DelayedMessage): Promise<void> {
        await new Promise((resolve) => setTimeout(resolve, 20));
        if (attempt === 1) throw new Error('not yet');
      }
    }

    const { harness, producer } = await bootApplication({ providers: [Jobs] });
    await producer.publish('jobs', null, { id: 'a' });
    await harness.advance('2s');

    const lines = log.mock.calls.map(([line]) => /^Attempt (\d) of a took (\d+) ms$/.exec(line as string) ?? []);
    expect(lines.map(([, attempt]) => attempt)).toEqual(['1', '2']);
    for (const [, , duration] of lines) expect(Number(duration)).toBeGreaterThanOrEqual(19);
    expect(harness.scheduled('jobs')).toEqual([]);
  });
}

function filter(run: Run): void {
  it('answers requests, and leaves messages to their exceptions', async () => {
    @Controller('invoices')
    class Invoices {
      @Get()
      find(): void {
        throw new NotFoundException('no such invoice');
      }

      @DelayedHandler('invoice.due')
      remind(): void {
        throw new UnrecoverableError('no such invoice');
      }
    }

    const filterClass = { provide: APP_FILTER, useClass: classIn(await run(), 'AllExceptionsFilter') };
    const { harness, producer, url } = await serveApplication({ controllers: [Invoices], providers: [filterClass] });
    await producer.publish('invoice.due', null);
    await harness.settle();

    expect(harness.deadLetters('invoice.due')).toMatchObject([
      { attempts: 1, failure: { reason: 'unrecoverable', message: 'no such invoice' } },
    ]);
    const response = await request(`${url}/invoices`);
    expect([response.status, await response.json()]).toMatchObject([404, { message: 'no such invoice' }]);
  });
}

function parameters(run: Run): void {
  it('makes a validated DTO of the payload, and tries again what is not valid', async () => {
    const sent: unknown[] = [];

    class InvoiceDto {
      @IsString()
      invoiceId = '';

      async sendTo(recipient: string | undefined): Promise<void> {
        sent.push([this.invoiceId, recipient]);
      }
    }

    const Excerpt = classIn(await run({ InvoiceDto }), 'Excerpt');
    const { harness, producer } = await bootApplication({ providers: [Excerpt] });
    await producer.publish('invoice.created', { invoiceId: '7' }, { headers: { recipient: 'anna@example.com' } });
    await producer.publish('invoice.created', { invoiceId: 8 }, { id: 'wrong' });
    await harness.settle();

    expect(sent).toEqual([['7', 'anna@example.com']]);
    expect(harness.scheduled('invoice.created')).toMatchObject([
      { id: 'wrong', attempts: 1, failure: { name: 'BadRequestException' } },
    ]);
  });
}

function requestScope(run: Run): void {
  it('is made anew for each delivery, with its message', async () => {
    const TenantMailer = classIn(await run(), 'TenantMailer');
    const requests = stubFetch(() => status(200));

    @Injectable()
    class Reminders {
      constructor(@Inject(TenantMailer) private readonly mailer: { send(template: string): Promise<void> }) {}

      @DelayedHandler('reminder')
      async remind(): Promise<void> {
        await this.mailer.send('reminder');
      }
    }

    const { harness, producer } = await bootApplication({ providers: [TenantMailer, Reminders] });
    for (const tenant of ['acme', 'globex']) await producer.publish('reminder', null, { headers: { tenant } });
    await harness.settle();

    expect(requests.mock.calls.map(([url]) => url).toSorted()).toEqual([
      'https://acme.example.com/mails/reminder',
      'https://globex.example.com/mails/reminder',
    ]);
  });
}
