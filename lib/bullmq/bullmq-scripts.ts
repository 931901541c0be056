/*
 * What is sent to the Redis of BullMQ. Its keys are named as BullMQ 4 to 6 name them; `base` is what all of a queue begin
 * with. Job keys are made from it in the scripts, as BullMQ's own scripts do: in a Cluster, all keys of a queue are in one
 * slot. A server that is full refuses what adds, so that comes first: what is refused has then changed nothing.
 *
 * `taken` is a HASH of this import's own, by the ids of the jobs: the job's score in `delayed`, with an `s` before it once the
 * message is stored. Its field '' says where the jobs go.
 */

/**
 * Reads a page of delayed jobs. To take them, moves those that can be moved from `delayed` to `taken`, where no worker finds
 * them; what an import has taken that did not come to its end comes first, and alone.
 *
 * KEYS   delayed ZSET, taken HASH
 * ARGV   base, offset, limit, destination ('' takes none)
 * Reply  { other destination or '', jobs }
 * Cost   a page of jobs; it is shorter if they are large
 */
export const PAGE = `
local delayed, taken, base = KEYS[1], KEYS[2], ARGV[1]
local offset, limit, destination = tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
local takes = destination ~= ''

local function obstacle_of(id, job, fields)
  if not fields[1] then return 'no-record' end
  if fields[7] or string.sub(id, 1, 7) == 'repeat:' then return 'scheduler' end
  if fields[8] or redis.call('EXISTS', job .. ':dependencies', job .. ':processed') > 0 then return 'flow' end
  return ''
end

local MOST_BYTES = 4 * 1024 * 1024
local rows, bytes = {}, 0

local function add(id, place, score)
  local job = base .. id
  local fields = redis.call('HMGET', job, 'name', 'data', 'opts', 'atm', 'attemptsMade', 'deid', 'rjk', 'parentKey')
  local deduplicates = fields[6] and redis.call('GET', base .. 'de:' .. fields[6]) == id
  rows[#rows + 1] = { id, place, score, obstacle_of(id, job, fields), fields[1], fields[2], fields[3], fields[4] or fields[5],
    deduplicates and fields[6] }
  bytes = bytes + #(fields[2] or '')
  return rows[#rows]
end

local others = redis.call('HGETALL', taken)
for n = 1, #others, 2 do
  local id, value = others[n], others[n + 1]
  if id == '' then
    if takes and value ~= destination then return { value, {} } end
  elseif (takes or offset == 0) and bytes < MOST_BYTES then
    local score = string.match(value, '^s(.*)')
    add(id, score and 'stored' or 'taken', score or value)
  end
end
if takes and #rows > 0 then return { '', rows } end

local page = redis.call('ZRANGE', delayed, offset, offset + limit - 1, 'WITHSCORES')
for n = 1, #page, 2 do
  if bytes >= MOST_BYTES then break end
  local id, score = page[n], page[n + 1]
  local job = add(id, 'delayed', score)
  if takes and job[4] == '' then
    redis.call('HSET', taken, '', destination, id, score)
    redis.call('ZREM', delayed, id)
    job[2] = 'taken'
  end
end
return { '', rows }`;

/**
 * Notes that the messages of taken jobs are stored. From then on none of them is published again.
 *
 * KEYS   taken HASH
 * ARGV   base, ids
 * Reply  the ids that are not taken any more, or that somebody has removed
 * Cost   O(ids)
 */
export const NOTE_STORED = `
local taken, base = KEYS[1], ARGV[1]
local gone = {}
for n = 2, #ARGV do
  local id = ARGV[n]
  local value = redis.call('HGET', taken, id)
  if not value or redis.call('EXISTS', base .. id) == 0 then
    redis.call('HDEL', taken, id)
    gone[#gone + 1] = id
  elseif string.sub(value, 1, 1) ~= 's' then
    redis.call('HSET', taken, id, 's' .. value)
  end
end
return gone`;

/** At the end of a script: forgets where the jobs went once none is taken. */
const FORGET_DESTINATION = `
if redis.call('HLEN', taken) == 1 then redis.call('HDEL', taken, '') end
return 0`;

/**
 * Removes jobs whose messages are on their way, as BullMQ removes a job.
 *
 * KEYS   taken HASH, meta HASH, events STREAM
 * ARGV   base, ids
 * Cost   O(ids)
 */
export const FINISH = `
local taken, base = KEYS[1], ARGV[1]
local most = redis.call('HGET', KEYS[2], 'opts.maxLenEvents') or 10000
for n = 2, #ARGV do
  local id = ARGV[n]
  local job = base .. id
  if redis.call('HEXISTS', taken, id) == 1 then
    local deduplication = redis.call('HGET', job, 'deid')
    if deduplication and redis.call('GET', base .. 'de:' .. deduplication) == id then
      redis.call('DEL', base .. 'de:' .. deduplication, base .. 'dn:' .. deduplication)
    end
    redis.call('DEL', job, job .. ':logs')
    redis.call('HDEL', taken, id)
    redis.pcall('XADD', KEYS[3], 'MAXLEN', '~', most, '*', 'event', 'removed', 'jobId', id, 'prev', 'delayed')
  end
end
${FORGET_DESTINATION}`;

/**
 * Gives taken jobs back to BullMQ, at their times, and tells its workers when the next one is due. Those whose messages
 * another import has stored are its own, and those that somebody has removed are forgotten.
 *
 * KEYS   delayed ZSET, taken HASH, marker ZSET
 * ARGV   base, ids
 * Cost   O(ids log delayed)
 */
export const GIVE_BACK = `
local delayed, taken, base = KEYS[1], KEYS[2], ARGV[1]
for n = 2, #ARGV do
  local id = ARGV[n]
  local score = redis.call('HGET', taken, id)
  local exists = redis.call('EXISTS', base .. id) == 1
  if score and not (exists and string.sub(score, 1, 1) == 's') then
    if exists then redis.call('ZADD', delayed, score, id) end
    redis.call('HDEL', taken, id)
  end
end
local first = redis.call('ZRANGE', delayed, 0, 0, 'WITHSCORES')[2]
if first then redis.call('ZADD', KEYS[3], math.floor(tonumber(first) / 4096), '1') end
${FORGET_DESTINATION}`;
