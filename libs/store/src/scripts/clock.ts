// Reads the time of the Redis server, in ms: the clocks of processes differ.
export const clock = `
local function now_ms()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
`;
