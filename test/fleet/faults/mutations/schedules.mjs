/** Guards of schedules. */
export const scheduleMutations = [
  {
    guard: 'schedules: an occurrence is published once, from the state that was seen',
    file: 'store/lua/publish-occurrence.lua',
    find: 'if stored_state ~= expected then return',
    replace: 'if stored_state ~= expected and false then return',
    spec: 'test/contract/redis-broker.spec.ts',
  },
  {
    guard: 'schedules: only the owner of the partition publishes them',
    file: 'store/lua/publish-occurrence.lua',
    find: 'if stored_owner ~= claimant then return { now_us, 0, stored_owner } end',
    replace: 'if false then return { now_us, 0, stored_owner .. claimant } end',
    spec: 'test/contract/redis-broker.spec.ts',
  },
  {
    guard: 'schedules: a delayed copy of a write brings back none that was removed',
    file: 'store/lua/put-schedule.lua',
    find: 'if answer then return',
    replace: 'if answer and false then return',
    spec: 'test/contract/redis-broker.spec.ts',
  },
  {
    guard: 'schedules: a pause that was given up finds another state once the schedule was resumed',
    file: 'schedules/schedule-writes.ts',
    find: 'const next = change(record, this.#found.now(partition));',
    replace: 'const next = change(record, this.#found.now(partition)); if (next === record.state) return found;',
    spec: 'test/unit/schedules/delay-queue-schedules.spec.ts',
  },
  {
    guard: 'schedules: another rule takes back what the earlier one has published ahead',
    file: 'schedules/delay-queue.schedules.ts',
    find: 'if (before) await',
    replace: "if (before?.id === '') await",
    spec: 'test/unit/schedules/delay-queue-schedules.spec.ts',
  },
  {
    guard: 'schedules: another rule counts from what both have',
    file: 'schedules/starting-state.ts',
    find: 'shared ?? lastWithout(state, now)',
    replace: '(shared && undefined) ?? lastWithout(state, now)',
    spec: 'test/unit/schedules/delay-queue-schedules.spec.ts',
  },
  {
    guard: 'schedules: a removal takes back what the owner may have published since it looked',
    file: 'schedules/delay-queue.schedules.ts',
    find: 'record: { ...record, state: { ...record.state, paused: true } }',
    replace: 'record',
    spec: 'test/unit/schedules/delay-queue-schedules.spec.ts',
  },
];
