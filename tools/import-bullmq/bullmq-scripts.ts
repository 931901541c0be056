/*
 * Scripts for the Redis of BullMQ. Its keys have the names that BullMQ 4 to 6 give them; `base` is the common prefix of a
 * queue's keys. The scripts make job keys from it, as BullMQ's own scripts do: in a Cluster, all keys of a queue are in one
 * slot. A full server refuses commands that add, so these come first: a refused script has then changed nothing.
 *
 * `taken` is a HASH of this tool's own, by the ids of the jobs: a note of each, which begins with a word, the job's score in
 * `delayed`, and a name of the taking. Its field '' has the destination of the jobs. The record of a taken job has the same
 * name: a job that was added again under its id has not. Each change of a note compares it first.
 */

/** Defines `is_its`: whether the record of a job is still the one that was taken. */
const IS_ITS = `
local function is_its(id, note)
  local taking = string.match(note, '^%a+ %S+ (%S+)')
  return taking and redis.call('HGET', base .. id, 'movingToDelayQueue') == taking
end`;

/** Reads jobs until they are enough for one reply; at least one. */
const ROWS = `${IS_ITS}
local MOST_BYTES = 4 * 1024 * 1024
local rows, bytes = {}, 0

local function obstacle_of(id, note, fields)
  if not fields[1] or note ~= '' and not is_its(id, note) then return 'no-record' end
  if fields[7] or string.sub(id, 1, 7) == 'repeat:' then return 'scheduler' end
  local job = base .. id
  if fields[8] or redis.call('EXISTS', job .. ':dependencies', job .. ':processed') > 0 then return 'flow' end
  return ''
end

local function add(id, note, score)
  local fields = redis.call('HMGET', base .. id,
    'name', 'data', 'opts', 'atm', 'attemptsMade', 'deid', 'rjk', 'parentKey', 'timestamp')
  local deduplicates = fields[6] and redis.call('GET', base .. 'de:' .. fields[6]) == id
  rows[#rows + 1] = { id, note, score, obstacle_of(id, note, fields), fields[1], fields[2], fields[3],
    fields[4] or fields[5], deduplicates and fields[6], fields[9] }
  bytes = bytes + #(fields[2] or '')
  return rows[#rows]
end`;

/**
 * Reads taken jobs until they are enough for one reply.
 *
 * KEYS   taken HASH
 * ARGV   base, ids
 * Reply  jobs, without those that are no longer taken
 * Cost   O(ids), and at most a little more than 4 MiB
 */
export const READ = `
local taken, base = KEYS[1], ARGV[1]
${ROWS}
for n = 2, #ARGV do
  if bytes >= MOST_BYTES then break end
  local note = redis.call('HGET', taken, ARGV[n])
  if note then add(ARGV[n], note, string.match(note, '^%a+ (%S+)') or '0') end
end
return rows`;

/**
 * Reads a page of delayed jobs. To take them, moves those that can be moved from \`delayed\` to \`taken\`, where no worker finds
 * them.
 *
 * KEYS   delayed ZSET, taken HASH
 * ARGV   base, limit, score and id of the last job of the page before ('' for the first), destination ('' takes none),
 *        what the names of the takings begin with
 * Reply  { other destination or '', jobs }
 * Cost   a page of jobs; it is shorter if they are large
 */
export const PAGE = `
local delayed, taken, base = KEYS[1], KEYS[2], ARGV[1]
local limit, after_score, after_id, destination, taking = tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local takes = destination ~= ''
${ROWS}
local other = redis.call('HGET', taken, '')
if takes and other and other ~= destination then return { other, {} } end

local first = 0
if after_score ~= '' then
  local stays = redis.call('ZSCORE', delayed, after_id) == after_score
  first = stays and redis.call('ZRANK', delayed, after_id) + 1 or redis.call('ZCOUNT', delayed, '-inf', after_score)
end
local page = redis.call('ZRANGE', delayed, first, first + limit - 1, 'WITHSCORES')
for n = 1, #page, 2 do
  if bytes >= MOST_BYTES then break end
  local id, score = page[n], page[n + 1]
  local job = add(id, '', score)
  if takes and job[4] == '' then
    local name = taking .. string.format('%03d', n / 2)
    local note = 'taken ' .. score .. ' ' .. name
    redis.call('HSET', base .. id, 'movingToDelayQueue', name)
    redis.call('HSET', taken, '', destination, id, note)
    redis.call('ZREM', delayed, id)
    job[2] = note
  end
end
return { '', rows }`;

/** End of a script: forgets the destination of the jobs once none is taken. */
const FORGET_DESTINATION = `
if redis.call('HLEN', taken) == 1 then redis.call('HDEL', taken, '') end`;

/**
 * Replaces notes. A job that someone has removed in the meantime is forgotten, even if it was added again.
 *
 * KEYS   taken HASH
 * ARGV   base, (3 a job: id, the note that it has, the note that it gets)
 * Reply  { id, note } of each job that has another note, '' if it is no longer taken
 * Cost   O(jobs)
 */
export const NOTE = `
local taken, base = KEYS[1], ARGV[1]
${IS_ITS}
local gone = {}
for n = 2, #ARGV, 3 do
  local id, from, to = ARGV[n], ARGV[n + 1], ARGV[n + 2]
  local note = redis.call('HGET', taken, id) or ''
  if note == from and not is_its(id, note) then
    redis.call('HDEL', taken, id)
    note = ''
  end
  if note == from then redis.call('HSET', taken, id, to) else gone[#gone + 1] = { id, note } end
end
${FORGET_DESTINATION}
return gone`;

/**
 * Removes jobs whose messages are on their way, as BullMQ removes a job.
 *
 * KEYS   taken HASH, meta HASH, events STREAM
 * ARGV   base, (2 a job: id, the note that it has)
 * Reply  the ids of those that had these notes
 * Cost   O(jobs)
 */
export const FINISH = `
local taken, base = KEYS[1], ARGV[1]
${IS_ITS}
local most = redis.call('HGET', KEYS[2], 'opts.maxLenEvents') or 10000
local finished = {}
for n = 2, #ARGV, 2 do
  local id, note = ARGV[n], ARGV[n + 1]
  local job = base .. id
  if redis.call('HGET', taken, id) == note then
    if is_its(id, note) then
      local deduplication = redis.call('HGET', job, 'deid')
      if deduplication and redis.call('GET', base .. 'de:' .. deduplication) == id then
        redis.call('DEL', base .. 'de:' .. deduplication, base .. 'dn:' .. deduplication)
      end
      redis.call('DEL', job, job .. ':logs')
      redis.pcall('XADD', KEYS[3], 'MAXLEN', '~', most, '*', 'event', 'removed', 'jobId', id, 'prev', 'delayed')
    end
    redis.call('HDEL', taken, id)
    finished[#finished + 1] = id
  end
end
${FORGET_DESTINATION}
return finished`;

/**
 * Gives taken jobs back to BullMQ, at their times, and tells its workers when the next one is due. Jobs that someone has removed
 * are forgotten.
 *
 * KEYS   delayed ZSET, taken HASH, marker ZSET
 * ARGV   base, (2 a job: id, the note that it has)
 * Reply  the ids of those that had these notes
 * Cost   O(jobs log delayed)
 */
export const GIVE_BACK = `
local delayed, taken, base = KEYS[1], KEYS[2], ARGV[1]
${IS_ITS}
local given = {}
for n = 2, #ARGV, 2 do
  local id, note = ARGV[n], ARGV[n + 1]
  if redis.call('HGET', taken, id) == note then
    if is_its(id, note) then
      redis.call('ZADD', delayed, string.match(note, '^%a+ (%S+)'), id)
      redis.call('HDEL', base .. id, 'movingToDelayQueue')
    end
    redis.call('HDEL', taken, id)
    given[#given + 1] = id
  end
end
local first = redis.call('ZRANGE', delayed, 0, 0, 'WITHSCORES')[2]
if first then redis.call('ZADD', KEYS[3], math.floor(tonumber(first) / 4096), '1') end
${FORGET_DESTINATION}
return given`;
