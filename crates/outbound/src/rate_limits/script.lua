-- Token buckets of organizations and windows of projects, many in one call.
--
-- KEYS: the buckets, then the windows.
-- ARGV: the time in microseconds, empty for the clock of Redis; the number of buckets;
--       for each bucket: burst, refill per minute, requested, returned, owed;
--       for each window: limit per minute, limit per hour, requested.
-- Returns: for each bucket the tokens granted and the level after; for each window the grants.
--
-- The arithmetic is that of crate domain, in whole numbers below 2^53, which Lua's numbers
-- hold exactly. They are written with %.0f because Lua's default format rounds them.

local REQUEST, MINUTE, HOUR = 60000000, 60000000, 3600000000

local now = tonumber(ARGV[1])
-- A clock given by the caller may stand still, so the refill must not set the time to live.
local foreign = now ~= nil
if not foreign then
    local time = redis.call('TIME')
    now = tonumber(time[1]) * 1000000 + tonumber(time[2])
end
local buckets = tonumber(ARGV[2])

local place = 2
local function argument()
    place = place + 1
    return tonumber(ARGV[place])
end

local answer = {}
for i = 1, buckets do
    local full, per_minute = argument() * REQUEST, argument()
    local wanted, given, owed = argument(), argument(), argument()
    local level = full
    local kept = redis.call('GET', KEYS[i])
    if kept then
        local was, at = string.match(kept, '^(%d+) (%d+)$')
        level = math.min(full, tonumber(was) + math.max(0, now - tonumber(at)) * per_minute)
    end
    level = math.min(full, level + given * REQUEST)
    level = math.max(0, level - owed * REQUEST)
    local granted = math.min(wanted, math.floor(level / REQUEST))
    level = level - granted * REQUEST
    if level < full then
        -- A missing key means a full bucket, so the key may expire when the bucket would be full.
        local lives = foreign and 3600000
            or math.ceil((full - level) / (math.max(1, per_minute) * 1000)) + 1
        redis.call('SET', KEYS[i], string.format('%.0f %.0f', level, now), 'PX', lives)
    elseif kept then
        redis.call('DEL', KEYS[i])
    end
    answer[#answer + 1] = granted
    answer[#answer + 1] = level
end

local minute, hour = math.floor(now / MINUTE), math.floor(now / HOUR)
for i = buckets + 1, #KEYS do
    local per_minute, per_hour, wanted = argument(), argument(), argument()
    local in_minute, in_hour = 0, 0
    local kept = redis.call('GET', KEYS[i])
    if kept then
        local its_minute, minutes, its_hour, hours = string.match(kept, '^(%d+) (%d+) (%d+) (%d+)$')
        if tonumber(its_minute) == minute then in_minute = tonumber(minutes) end
        if tonumber(its_hour) == hour then in_hour = tonumber(hours) end
    end
    local granted = math.max(0, math.min(wanted, per_minute - in_minute, per_hour - in_hour))
    -- Also when nothing was granted: a clock that is set back must not find an old window.
    local counted = { minute, in_minute + granted, hour, in_hour + granted }
    redis.call('SET', KEYS[i], string.format('%.0f %.0f %.0f %.0f', unpack(counted)), 'PX', 3600000)
    answer[#answer + 1] = granted
end
return answer
