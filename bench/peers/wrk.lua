-- How many pages can be fetched from the web at all? Every URL of a file in turn, under its own host's name.
local requests = {}
local number = 0

function init(arguments)
  for url in io.lines(arguments[1]) do
    local host, target = url:match("^http://([^/]+)(/.*)$")
    requests[#requests + 1] = wrk.format("GET", target, { Host = host })
  end
end

function request()
  number = number % #requests + 1
  return requests[number]
end
