import { ConfigurationError } from 'nestjs-delay-queue';
import { expect, it } from 'vitest';
import { AUDITED_ACTIONS } from '../../../lib/events/audit-log.js';
import { viewerOf } from '../../../lib/dashboard/viewer.js';

it.each([
  ['read', { actions: [], payloads: true }],
  ['operate', { actions: AUDITED_ACTIONS, payloads: true }],
  [{}, { actions: [], payloads: false }],
  [{ right: 'read' }, { actions: [], payloads: true }],
  [
    { right: 'operate', payloads: false },
    { actions: AUDITED_ACTIONS, payloads: false },
  ],
  [
    { right: 'read', actions: ['requeue'] },
    { actions: ['requeue'], payloads: true },
  ],
  [
    { actions: ['requeue'], payloads: true },
    { actions: ['requeue'], payloads: true },
  ],
])('what is left out is as `right` says, and else the least: %j', (answer, rights) => {
  expect(viewerOf(answer)?.rights).toEqual({ actor: undefined, topics: undefined, ...rights });
});

it('lets nobody in with none', () => {
  expect(viewerOf('none')).toBeUndefined();
});

it.each([
  [undefined, ['a', 'ab', 'a.b', 'b', 'b.c']],
  [['a'], ['a']],
  [['a*'], ['a', 'ab', 'a.b']],
  [
    ['a.*', 'b'],
    ['a.b', 'b'],
  ],
  [['*'], ['a', 'ab', 'a.b', 'b', 'b.c']],
  [[], []],
])('sees the topics that are named, and those that begin so: %j', (topics, seen) => {
  const viewer = viewerOf({ topics });
  expect(['a', 'ab', 'a.b', 'b', 'b.c'].filter((topic) => viewer?.sees(topic))).toEqual(seen);
  expect(viewer?.seesAllTopics).toBe(topics === undefined);
});

it.each([
  [true, "must be 'none', 'read', 'operate' or an object"],
  [undefined, "must be 'none', 'read', 'operate' or an object"],
  ['admin', "must be 'none', 'read', 'operate' or an object"],
  [{ right: 'none' }, "right must be one of 'read', 'operate'"],
  [{ rihgt: 'read' }, "There is no option 'rihgt'"],
  [{ actor: '' }, 'actor must be a string'],
  [{ topics: 'a' }, 'topics must be an array of names'],
  [{ topics: ['*a'] }, 'topics must be an array of names'],
  [{ topics: [1] }, 'topics must be an array of names'],
  [{ actions: ['fly'] }, "Each of actions must be one of 'cancel'"],
  [{ actions: 'cancel' }, 'actions must be an array'],
  [{ payloads: 'yes' }, 'payloads must be true or false'],
])('refuses the answer %j', (answer, message) => {
  expect(() => viewerOf(answer)).toThrow(ConfigurationError);
  expect(() => viewerOf(answer)).toThrow(message);
});
