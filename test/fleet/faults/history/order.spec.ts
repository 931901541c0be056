import { describe, expect, it } from 'vitest';
import { Forgery } from './forgery.js';

/** Two messages of one key, published long before anything runs. */
const waiting = (): Forgery => new Forgery().ordered().published(0, 'x', 5000, 'k').published(1, 'y', 5001, 'k');
const handled = (history: Forgery, id: string, from: number, to: number): Forgery =>
  history.started(from, 'a', id).finished(to, 'a', id).settled(to, 'a', id, 'acked');

describe('the checker, of an ordered topic', () => {
  it('finds nothing if each waits for the one before', () => {
    expect(handled(handled(waiting(), 'x', 5000, 5010), 'y', 5010, 5020).rules()).toEqual([]);
  });

  it('finds one that began before another one was done', () => {
    expect(handled(handled(waiting(), 'x', 5000, 5010), 'y', 5009, 5020).rules()).toEqual(['order']);
  });

  it('finds one that was handled while another one was put off', () => {
    const history = handled(waiting().started(5000, 'a', 'x').putOff(5001, 'a', 'x'), 'y', 5002, 5003);
    expect(handled(history, 'x', 5050, 5060).rules()).toEqual(['order']);
  });

  it('knows that a message may die without a run', () => {
    const history = waiting().started(5000, 'a', 'x').fault(5001, 5001, 'a', true).settled(9000, 'b', 'x', 'dead', 2);
    expect(handled(history.left('x', 'dead'), 'y', 8500, 8600).rules()).toEqual([]);
  });

  it('finds one that was handled while another one waited for its retry', () => {
    const failed = waiting()
      .started(5000, 'a', 'x')
      .finished(5001, 'a', 'x', 1, false)
      .settled(5001, 'a', 'x', 'retried');
    const history = handled(failed, 'y', 5002, 5003).started(5050, 'a', 'x', 2).finished(5060, 'a', 'x', 2);
    expect(history.rules()).toEqual(['order']);
  });

  it('finds one that came before another one that was due earlier', () => {
    expect(handled(handled(waiting(), 'y', 5002, 5003), 'x', 5004, 5005).rules()).toEqual(['order']);
  });

  it('accepts that what has begun comes before what was published later and is due earlier', () => {
    const history = new Forgery().ordered().published(0, 'x', 5000, 'k').published(5001, 'y', 4000, 'k');
    expect(handled(handled(history, 'x', 5000, 5010), 'y', 5010, 5020).rules()).toEqual([]);
  });

  it('accepts other keys beside it', () => {
    const history = new Forgery().ordered().published(0, 'x', 5000, 'k').published(1, 'y', 5001, 'l');
    expect(handled(handled(history, 'x', 5002, 5010), 'y', 5005, 5020).rules()).toEqual([]);
  });
});
