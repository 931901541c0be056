import { setTimeout as sleep } from 'node:timers/promises';
import { inspect, isDeepStrictEqual } from 'node:util';
import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { TOKENS } from '../access/tokens.js';
import type { Invoice } from '../invoices/invoice.topics.js';
import { InvoicesService } from '../invoices/invoices.service.js';
import type { Program } from '../programs/program.js';
import { Programs } from '../programs/programs.js';
import { RemindersService } from '../reminders/reminders.service.js';

/** How long the story waits for something to come true, in milliseconds. */
const PATIENCE = 60_000;

/** Plays in the shop and with its programs, tells what happens, and checks it. */
@Injectable()
export class StoryService implements OnModuleDestroy {
  private cameTrue = true;
  private isOver = false;

  constructor(
    private readonly programs: Programs,
    private readonly invoices: InvoicesService,
    private readonly reminders: RemindersService,
  ) {}

  /** @returns whether every part of it came true */
  async play(shop: string): Promise<boolean> {
    try {
      await this.scenes(`${shop}/queues`);
    } catch (error) {
      // Whoever has asked the application to end does not want to hear that the rest did not come true.
      if (this.isOver) await new Promise(() => {});
      this.expect('nothing unforeseen happens', [error, undefined]);
    }
    await this.programs.endAll();
    console.log(this.cameTrue ? 'Every part of the story came true.' : 'A part of the story did not come true.');
    return this.cameTrue;
  }

  onModuleDestroy(): void {
    this.isOver = true;
  }

  private async scenes(gateway: string): Promise<void> {
    const watcher = await this.begin('Go watches the topics.', this.programs.watcher(gateway), 'ready');
    const worker = await this.begin('Python renders invoices.', this.programs.worker(gateway, 'worker-1'), 'ready');
    await this.oneInvoice();
    await this.oneReminder(gateway, watcher);
    await this.ownRights(gateway);
    await this.crash(gateway, worker);
    await this.numbers(watcher);
  }

  private async oneInvoice(): Promise<void> {
    console.log('\nAda buys tea and cake. The shop orders her invoice, and Python renders it.');
    const lines = [
      { text: 'tea', cents: 350 },
      { text: 'cake', cents: 1225 },
    ];
    await this.invoices.order({ number: '1', customer: 'Ada', lines });
    await this.until(() => this.invoices.rendered.has('1'));
    this.expect('the shop has the invoice back', [
      this.invoices.rendered.get('1'),
      {
        number: '1',
        document: 'Invoice 1 for Ada\ntea: 3.50\ncake: 12.25\nTotal: 15.75',
        worker: 'worker-1',
        attempt: 1,
      },
    ]);
  }

  private async oneReminder(gateway: string, watcher: Program): Promise<void> {
    const page = await this.begin('\nPHP serves a page for reminders.', this.programs.page(gateway), ' started');
    const url = /\((http:[^)]+)\)/.exec(page.lines.find((line) => line.includes(' started')) ?? '')?.[1];
    const refused = await post(url, { to: 'nobody', text: 'the cake', delay: '2s' });
    this.expect('the page does not take what the shop would not', [refused.status, 400]);

    await post(url, { to: 'ada@example.com', text: 'the cake', delay: '1h' });
    await this.sees(watcher, 'the reminder waits', /^reminder\.send: scheduled 1, .*; next due at /);

    console.log('  Ada cannot wait for an hour.');
    const postedAt = performance.now();
    const { status, text } = await post(url, { to: 'ada@example.com', text: 'the cake', delay: '2s' });
    const promised = /You will be reminded at (\S+) UTC/.exec(text)?.[1];
    this.expect('the page says when the reminder comes', [
      [status, promised !== undefined],
      [200, true],
    ]);
    await this.until(() => this.reminders.sent.length > 0);
    const waited = performance.now() - postedAt;
    this.expect('it comes to the shop, and is due when the page has said', [
      this.reminders.sent.map(({ dueAt, ...reminder }) => [reminder, dueAt.toISOString().slice(11, 19)]),
      [[{ to: 'ada@example.com', text: 'the cake' }, promised]],
    ]);
    // Redis's clock tells whole milliseconds.
    this.expect('it has not come before', [waited > 2000 - 2, true]);
  }

  private async ownRights(gateway: string): Promise<void> {
    console.log('\nEach program may do what it is for, and nothing else.');
    const publish = async (token: string): Promise<number> => {
      const { status } = await fetch(`${gateway}/v1/topics/invoice.render/messages`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ payload: {} }),
      });
      return status;
    };
    const statuses = await Promise.all([publish(TOKENS.php), publish(TOKENS.go), publish('a token that leaked')]);
    this.expect('nobody else can order invoices', [statuses, [403, 403, 401]]);
  }

  private async crash(gateway: string, worker: Program): Promise<void> {
    console.log('\nA long invoice: its worker is killed in the middle. Another one does it again.');
    await this.invoices.order({ number: '2', customer: 'Grace', lines: longList(80) });
    await this.until(() => worker.lines.includes('begins invoice 2, attempt 1'));
    await worker.kill();
    this.expect('the worker has died before the invoice was done', [this.invoices.rendered.has('2'), false]);
    await this.begin('  Here is the next worker.', this.programs.worker(gateway, 'worker-2'), 'ready');
    await this.until(() => this.invoices.rendered.has('2'));
    const { document, worker: by } = this.invoices.rendered.get('2') ?? {};
    this.expect('after the lease of the first worker, the second one has rendered all of it', [
      { total: document?.split('\n').at(-1), by },
      { total: 'Total: 80.00', by: 'worker-2' },
    ]);
  }

  private async numbers(watcher: Program): Promise<void> {
    console.log('\nWhat has the watcher seen of all this?');
    await this.sees(
      watcher,
      'two invoices are done, and one of them was delivered twice',
      /^invoice\.render: scheduled 0, in flight 0, dead 0; so far delivered [3-9], done 2$/,
    );
    await this.sees(watcher, 'the reminder fell due', /^reminder\.send: 1 due and handed out$/);
  }

  private async sees(watcher: Program, what: string, line: RegExp): Promise<void> {
    const isSeen = (): boolean => watcher.lines.some((each) => line.test(each));
    await this.until(isSeen);
    this.expect(what, [isSeen(), true]);
  }

  /** Waits until a program has said that it is there. */
  private async begin(what: string, starting: Program | Promise<Program>, said: string): Promise<Program> {
    console.log(what);
    const program = await starting;
    console.log(`  ${program.name} is process ${program.pid}`);
    await this.until(() => program.hasEnded || program.lines.some((line) => line.includes(said)));
    if (program.hasEnded) throw new Error(`${program.name} has ended before it was ready`);
    return program;
  }

  private async until(isTrue: () => boolean): Promise<void> {
    const end = Date.now() + PATIENCE;
    while (!isTrue() && Date.now() < end) await sleep(20);
    if (this.isOver) throw new Error('The application ends');
  }

  private expect(what: string, [seen, wanted]: readonly [unknown, unknown]): void {
    const isSo = isDeepStrictEqual(seen, wanted);
    console.log(`  ${isSo ? '✓' : '✗'} ${what}`);
    if (isSo) return;
    this.cameTrue = false;
    console.log(`    seen: ${inspect(seen)}, wanted: ${inspect(wanted)}`);
  }
}

function longList(length: number): Invoice['lines'] {
  return Array.from({ length }, (_, i) => ({ text: `thing ${i + 1}`, cents: 100 }));
}

async function post(url = '', fields: Record<string, string>): Promise<{ status: number; text: string }> {
  const response = await fetch(url, { method: 'POST', body: new URLSearchParams(fields) });
  return { status: response.status, text: await response.text() };
}
