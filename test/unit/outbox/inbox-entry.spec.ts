import { expect, it } from 'vitest';
import { cancel, deliver, type InboxEntry, move, NEW_ENTRY, publish } from '../../../lib/outbox/inbox/inbox-entry.js';

/** An entry after several changes, each at one moment. */
class Message {
  entry: InboxEntry = NEW_ENTRY;
  readonly now = 1000;

  publish(): number {
    const { result, entry } = publish(this.entry, this.now);
    this.entry = entry;
    return result;
  }

  cancel(now = this.now): string {
    const { result, entry = this.entry } = cancel(this.entry, now);
    this.entry = entry;
    return result;
  }

  move(dueAt: number): string {
    const { result, entry = this.entry } = move(this.entry, this.now, dueAt);
    this.entry = entry;
    return result;
  }

  deliver(publishedAt: number, dueAt = this.now): unknown {
    const decision = deliver(this.entry, { publishedAt, dueAt });
    if (decision === 'to-handle') this.entry = { ...this.entry, handled: publishedAt };
    return decision;
  }
}

it('handles each publish once, however often its message comes, also behind the next one', () => {
  const message = new Message();
  const first = message.publish();
  expect([message.deliver(first), message.deliver(first)]).toEqual(['to-handle', 'over']);
  const second = message.publish();
  expect([message.deliver(first), message.deliver(second), message.deliver(first)]).toEqual([
    'over',
    'to-handle',
    'over',
  ]);
});

it('handles the message of an earlier publish if that was kept in place of a later one', () => {
  const message = new Message();
  const kept = message.publish();
  message.publish();
  expect([message.deliver(kept), message.deliver(kept)]).toEqual(['to-handle', 'over']);
});

it('tells publishes of one moment apart from what was cancelled between them', () => {
  const message = new Message();
  const cancelled = message.publish();
  expect(message.cancel()).toBe('cancelled');
  const kept = message.publish();
  expect([message.deliver(cancelled), message.deliver(kept)]).toEqual(['over', 'to-handle']);
  expect(message.cancel()).toBe('done');
});

it('cancels every publish so far, since any of them may be the one that is kept', () => {
  const message = new Message();
  const publishes = [message.publish(), message.publish(), message.now - 5];
  message.cancel();
  expect(publishes.map((publishedAt) => message.deliver(publishedAt))).toEqual(['over', 'over', 'over']);
  expect(message.deliver(message.now + 5)).toBe('to-handle');
});

it('answers about the publish that is known last', () => {
  const message = new Message();
  expect([message.cancel(), message.cancel(), message.move(2000)]).toEqual(['cancelled', 'cancelled', 'not-found']);
  message.deliver(message.publish());
  expect([message.cancel(), message.move(2000)]).toEqual(['done', 'done']);
  const next = message.publish();
  expect([message.move(2000), message.cancel(), message.deliver(next)]).toEqual(['moved', 'cancelled', 'over']);
});

it('puts off what comes before the time to which it was moved', () => {
  const message = new Message();
  const published = message.publish();
  message.move(5000);
  expect([message.deliver(published, 1000), message.deliver(published, 4999)]).toEqual([5000, 5000]);
  message.move(4000);
  expect([message.deliver(published, 4500), message.deliver(published, 4500)]).toEqual(['to-handle', 'over']);
  expect(message.deliver(message.publish(), 1000)).toBe('to-handle');
});

it('takes nothing back if its clock goes back', () => {
  const message = new Message();
  const published = message.publish();
  message.cancel(10);
  expect([message.deliver(published), message.publish() > published]).toEqual(['over', true]);
});
