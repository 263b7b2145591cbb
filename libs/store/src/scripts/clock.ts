// Reads the time of the Redis server once, in ms: the clocks of processes differ.
export const clock = `
local clock_ms
local function now_ms()
  if not clock_ms then
    local time = redis.call('TIME')
    clock_ms = time[1] * 1000 + math.floor(time[2] / 1000)
  end
  return clock_ms
end
`;
