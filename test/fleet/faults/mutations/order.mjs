/** Guards of ordered topics. See index.mjs. */
export const orderMutations = [
  {
    guard: 'order: a message waits behind the head of its key',
    file: 'store/lua/modules/line-up-new.lua',
    find: 'local leads = heads[i] ~= ARGV[FIRST + 2 * n - 2]',
    replace: 'local leads = false and heads[i] ~= ARGV[FIRST + 2 * n - 2]',
    scenario: 'ordered-keys',
  },
  {
    guard: 'order: what is in flight with a shared record stays the head of its key',
    file: 'store/lua/modules/line-up-new.lua',
    find: "local may_share = #asked > 0 and redis.call('HLEN', claims) > 0",
    replace: "local may_share = #asked > 0 and redis.call('HLEN', claims) < 0",
    spec: 'test/contract/redis-broker.spec.ts',
  },
  {
    guard: 'order: what is in flight with a shared record keeps those waiting that are moved',
    file: 'store/lua/modules/order.lua',
    find: 'return may_share(id) and (not surely or is_shared(id))',
    replace: 'return may_share(id) and surely and is_shared(id)',
    spec: 'test/contract/redis-broker.spec.ts',
  },
  {
    guard: 'order: a head that is gone is found while others share a record',
    file: 'store/lua/modules/order.lua',
    find: 'return may_share(id) and (not surely or is_shared(id))',
    replace: 'return may_share(id) and (not surely or is_shared(id) or true)',
    spec: 'test/integration/redis-order-repair.spec.ts',
  },
  {
    guard: 'order: what has begun stays the head of its key until it is done',
    file: 'store/lua/modules/order.lua',
    find: 'if not nth or delivered_now > delivered or',
    replace: 'if not (nth and delivered_now and delivered) or',
    scenario: 'ordered-keys',
  },
  {
    guard: 'order: nothing overtakes a head whose record cannot be read',
    file: 'store/lua/modules/order.lua',
    find: 'or record and not head_due then',
    replace: 'or record and not head_due and false then',
    spec: 'test/integration/redis-order-repair.spec.ts',
  },
  {
    guard: 'order: the next one of a key is handed out as soon as its head is done',
    file: 'store/lua/modules/settle-acks.lua',
    find: 'if order_mode then note(leave_lines(ids)) end',
    replace: 'if false then note(leave_lines(ids)) end',
    spec: 'test/e2e/order.spec.ts',
  },
  {
    guard: 'order: a key without a head gets one from a claim',
    file: 'store/lua/modules/claim-mending.lua',
    find: 'try_parked() else try_blocked() end',
    replace: 'try_parked() elseif false then try_blocked() end',
    spec: 'test/integration/redis-order-repair.spec.ts',
  },
];
