import { expect, it } from 'vitest';
import {
  type Heartbeat,
  decodeSessions,
  encodeLeftSession,
  encodeSession,
} from '../../../../lib/store/fleet/sessions.js';

const HEARTBEAT: Heartbeat = { session: 'a', count: 12, length: 10_000, digest: 'd', protocol: 3 };

it('a session says which protocol it speaks, and whether it has left', () => {
  expect(encodeSession(HEARTBEAT, 5.4)).toBe('12 5 10000 d p3');
  expect(encodeLeftSession(HEARTBEAT, 5)).toBe('12 5 10000 d p3 left');
});

it.each([
  { record: '12 5 10000 d p3', protocol: 3, left: false },
  { record: '12 5 10000 d p3 left', protocol: 3, left: true },
  { record: '12 5 10000 d x=1 p17 y', protocol: 17, left: false },
  // Written by processes that speak protocol 2.
  { record: '12 5 10000 d', protocol: undefined, left: false },
  { record: '12 5 10000 d left', protocol: undefined, left: true },
  { record: '12 5 10000 p3 left', protocol: undefined, left: true },
  { record: '12 5 10000 d p p3x xp3', protocol: undefined, left: false },
])('is read: $record', ({ record, protocol, left }) => {
  expect(decodeSessions({ a: record })).toMatchObject([{ session: 'a', count: 12, at: 5, protocol, left }]);
});

it('one that is marked as left for a process says of its protocol what the process has said', () => {
  const [old] = decodeSessions({ a: '12 5 10000 d' });
  expect(encodeLeftSession(old as Heartbeat, 5)).toBe('12 5 10000 d left');
});
