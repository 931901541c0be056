import { describe, expect, it } from 'vitest';
import { Forgery } from './forgery.js';

function ran(history: Forgery, id: string, from: number, to: number, key?: string): Forgery {
  return history
    .published(0, id, 0, key)
    .started(from, 'c', id, 1, 0)
    .finished(to, 'c', id)
    .settled(to, 'c', id, 'acked');
}

describe('the checker, of a limited topic', () => {
  it('finds more calls within a time than may begin', () => {
    const history = new Forgery().limited({ rateLimit: { max: 2, per: 1000 } });
    ran(ran(ran(history, 'a', 5000, 5001), 'b', 5500, 5501), 'c', 6000, 6001);
    expect(history.rules()).toEqual([]);
    expect(ran(history, 'd', 6400, 6401).rules()).toEqual(['rate']);
  });

  it('counts the calls of each key', () => {
    const history = new Forgery().limited({ rateLimit: { max: 1, per: 1000, by: 'key' } });
    ran(ran(history, 'a', 5000, 5001, 'k'), 'b', 5500, 5501, 'l');
    expect(history.rules()).toEqual([]);
    expect(ran(history, 'c', 5990, 5991, 'k').rules()).toEqual(['rate']);
  });

  it('finds more calls at once than may run', () => {
    const history = new Forgery().limited({ maxInFlight: { topic: 2, key: 1 } });
    ran(ran(ran(history, 'a', 5000, 5100, 'k'), 'b', 5050, 5200, 'l'), 'c', 5100, 5300, 'k');
    expect(history.rules()).toEqual([]);
    expect(ran(history, 'd', 5150, 5160, 'm').rules()).toEqual(['in-flight']);
    expect(ran(history, 'e', 5250, 5260, 'k').rules()).toEqual(['in-flight', 'in-flight']);
  });

  it('does not count what a process ran that was killed', () => {
    const history = new Forgery().limited({ maxInFlight: { topic: 1 } }).fault(5050, 5050, 'c', true);
    history.published(0, 'a', 0).started(5000, 'c', 'a', 1, 0).started(5100, 'e', 'a', 1, 0).finished(5150, 'e', 'a');
    expect(history.settled(5150, 'e', 'a', 'acked').rules()).toEqual([]);
  });
});
