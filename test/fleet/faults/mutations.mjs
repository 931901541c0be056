/**
 * Guards of the protocol, how each is switched off, and what has to notice. `file` is in lib; `scenario` is one of
 * test/fleet/faults.
 */
export const mutations = [
  {
    guard: 'receipt check: a settle counts only for the current delivery',
    file: 'broker/redis/lua/settle.lua',
    find: 'if current ~= token or token == NO_TOKEN or ended[id] then',
    replace: 'if not record then',
    scenario: 'stopped-consumer',
  },
  {
    guard: 'owner check: only the owner of a partition claims',
    file: 'broker/redis/lua/claim.lua',
    find: 'if not epoch or stored_owner ~= claimant then return { now_us, 0, stored_owner } end',
    replace: 'if not epoch then return { now_us, 0, stored_owner } end',
    scenario: 'stopped-consumer',
  },
  {
    guard: 'memory of the last call: a repeated publish does not count as a second one',
    file: 'broker/redis/lua/publish.lua',
    find: 'local answer = earlier_answer()',
    replace: 'local answer = nil',
    scenario: 'lost-replies',
  },
  {
    guard: 'existence check: an id that exists is not published again',
    file: 'broker/redis/lua/publish.lua',
    find: 'if known and (known[total] or known[id]) then',
    replace: 'if false then',
    scenario: 'twice-published',
  },
  {
    guard: 'lease extension: a running handler keeps its message',
    file: 'broker/redis/lua/extend.lua',
    find: "if #members > 0 then redis.call('ZADD', inflight, 'XX', unpack(members)) end",
    replace: "if #members > 0 then redis.call('ZCARD', inflight) end",
    scenario: 'slow-handlers',
  },
  {
    guard: 'due check: nothing is claimed before its time',
    file: 'broker/redis/lua/claim.lua',
    find: "redis.call('ZRANGEBYSCORE', scheduled, '-inf', now,",
    replace: "redis.call('ZRANGEBYSCORE', scheduled, '-inf', now + 100,",
    scenario: 'coming-and-going',
  },
  {
    guard: 'lease check before the start: a claim that was read too late is given back',
    file: 'consumer/delivery-check.ts',
    find: 'if (this.#isOver(delivery))',
    replace: 'if (delivery.attempt < 0)',
    scenario: 'blocked-event-loop',
  },
];
