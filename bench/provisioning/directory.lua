-- A directory at one organization, for wrk: what Okta and Microsoft Entra ID send, half of the users each.
--
--   wrk --threads N --connections N --script directory.lua ADDRESS -- PHASE FIRST LAST THREADS FOLDER
--
-- One connection a thread, so that an answer belongs to the request before it. Thread t has the items FIRST + t,
-- FIRST + t + THREADS, … up to LAST, and is done after the last answer: it writes into FOLDER what it counted
-- (`done.t`), the seconds of each answer (`times.t`), and the ids of what was created (`made.t`). Whoever started wrk
-- ends it when all have. In FOLDER, `ids` has the ids of the users, 37 bytes each.

local ffi = require 'ffi'
ffi.cdef 'typedef struct { long seconds, nanoseconds; } instant; int clock_gettime(int, instant *);'

local CORE = 'urn:ietf:params:scim:schemas:core:2.0:'
local ENTERPRISE = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User'
local PATCH = 'urn:ietf:params:scim:api:messages:2.0:PatchOp'
local GIVEN = { 'Ana', 'Bruno', 'Carla', 'Davi', 'Elisa', 'Fabio', 'Gabriela', 'Hugo', 'Iris', 'Joana', 'Kaio' }
local FAMILY = { 'Almeida', 'Barbosa', 'Cardoso', 'Dias', 'Esteves', 'Ferreira', 'Gomes', 'Henriques', 'Lima' }
local DEPARTMENTS = { 'Sales', 'Legal', 'Finance', 'Engineering', 'Support' }
local MEMBERS = 50
local place = '/scim/v2/' .. os.getenv('ORGANIZATION')
local users, crowd = tonumber(os.getenv('USERS')), os.getenv('CROWD')

local function now()
  local at = ffi.new('instant')
  ffi.C.clock_gettime(1, at)
  return tonumber(at.seconds) + tonumber(at.nanoseconds) / 1e9
end

-- A number that looks like chance, the same every time.
local function mixed(i, salt) return (i * 2654435761 + salt) % 4294967296 end
local function pick(list, i) return list[i % #list + 1] end
local function is_okta(i) return i % 2 == 0 end
local function encoded(text)
  return (text:gsub('[^%w._-]', function(c) return ('%%%02X'):format(c:byte()) end))
end

local function name(i) return ('%s.%s.%d@acme.example'):format(pick(GIVEN, i):lower(), pick(FAMILY, i):lower(), i) end

-- The body of a POST, and with an id that of a PUT.
local function user(i, id)
  local given, family, address = pick(GIVEN, i), pick(FAMILY, i), name(i)
  local own = id and ('"id":"%s",'):format(id) or ''
  if is_okta(i) then
    return ('{"schemas":["%sUser"],%s"userName":"%s","name":{"givenName":"%s","familyName":"%s"},"emails":[{"primary":true,'
      .. '"value":"%s","type":"work"}],"displayName":"%s %s","locale":"en-US","externalId":"00u%08x%09d","groups":[],'
      .. '"active":true}'):format(CORE, own, address, given, family, address, given, family, mixed(i, 7), i)
  end
  return ('{"schemas":["%sUser","%s"],%s"externalId":"%08x-4a52-4f8e-bf98-%012x","userName":"%s","active":true,"emails":'
    .. '[{"primary":true,"type":"work","value":"%s"}],"meta":{"resourceType":"User"},"name":{"formatted":"%s %s",'
    .. '"familyName":"%s","givenName":"%s"},"roles":[],"title":"Analyst","%s":{"employeeNumber":"%d","department":"%s"}}')
    :format(CORE, ENTERPRISE, own, mixed(i, 11), i, address, address, given, family, family, given, ENTERPRISE, i,
      pick(DEPARTMENTS, i))
end

local ids
local function id_of(i)
  ids = ids or io.open(folder .. '/ids')
  ids:seek('set', (i - 1) * 37)
  return ids:read(36)
end

-- As many users as a group has, from all over the directory; 7919 is a prime, so nobody comes twice.
local function members(g)
  local list = {}
  for k = 1, math.min(MEMBERS, users) do
    list[k] = ('{"value":"%s"}'):format(id_of(((g * MEMBERS + k) * 7919) % users + 1))
  end
  return '[' .. table.concat(list, ',') .. ']'
end

local function group_name(g) return ('%s team %05d'):format(pick(DEPARTMENTS, g), g) end
local function group(g, id)
  return ('{"schemas":["%sGroup"],%s"externalId":"%08x-0000-4f8e-bf98-%012x","displayName":"%s","members":%s}'):format(
    CORE, id and ('"id":"%s",'):format(id) or '', mixed(g, 13), g, group_name(g), members(g))
end
local function patch(operation) return ('{"schemas":["%s"],"Operations":[%s]}'):format(PATCH, operation) end

-- A phase: the steps of one item. Each gives the method, path and body of a request; what the answer must be is its
-- status, and the id in it is known to the next step.
local phases = {
  users = { { 201, function(i) return 'POST', '/Users', user(i) end } },
  groups = { { 201, function(g) return 'POST', '/Groups', group(g) end } },
  resync_users = {
    { 200, function(i)
      local more = is_okta(i) and '&startIndex=1&count=100' or ''
      return 'GET', '/Users?filter=' .. encoded(('userName eq "%s"'):format(name(i))) .. more
    end },
    { 200, function(i, id) return 'PUT', '/Users/' .. id, user(i, id) end },
  },
  resync_groups = {
    { 200, function(g)
      return 'GET', '/Groups?excludedAttributes=members&filter=' .. encoded(('displayName eq "%s"'):format(group_name(g)))
    end },
    -- Okta writes the whole group, Entra adds members.
    { 0, function(g, id)
      if is_okta(g) then return 'PUT', '/Groups/' .. id, group(g, id) end
      return 'PATCH', '/Groups/' .. id, patch('{"op":"Add","path":"members","value":' .. members(g) .. '}')
    end },
  },
  -- One member joins and leaves the group CROWD.
  crowd = { { 204, function(i)
    local member = id_of(users)
    if i % 2 == 1 then
      return 'PATCH', '/Groups/' .. crowd, patch(('{"op":"Add","path":"members","value":[{"value":"%s"}]}'):format(member))
    end
    return 'PATCH', '/Groups/' .. crowd, patch(('{"op":"Remove","path":"members[value eq \\"%s\\"]"}'):format(member))
  end } },
}

local started = 0
function setup(thread)
  thread:set('number', started)
  started = started + 1
end

local steps, item, step, id, last, stride, sent
local begun, ended, right, wrong, sample, times, made = nil, nil, 0, 0, '', {}, {}

function init(args)
  local first
  steps, first, last, stride = phases[args[1]], tonumber(args[2]), tonumber(args[3]), tonumber(args[4])
  folder = args[5]
  item, step = first + number, 1
  wrk.headers['Host'] = 'id.example.org'
  wrk.headers['X-Forwarded-For'] = '192.0.2.1'
  wrk.headers['X-Forwarded-Proto'] = 'https'
  wrk.headers['Authorization'] = 'Bearer ' .. os.getenv('DIRECTORY_KEY')
  wrk.headers['Content-Type'] = 'application/scim+json'
  wrk.headers['User-Agent'] = 'provisioning'
end

-- Only an answer moves on: wrk makes a request for itself before it begins.
function request()
  -- A thread without an item asks something harmless, whose answer ends it.
  if item > last then return wrk.format('GET', '/healthz') end
  local method, path, body = steps[step][2](item, id)
  sent = now()
  begun = begun or sent
  return wrk.format(method, place .. path, nil, body)
end

local function leave(name, text)
  local path = ('%s/%s.%d'):format(folder, name, number)
  local file = io.open(path .. '.new', 'w')
  file:write(text)
  file:close()
  os.rename(path .. '.new', path)
end

-- Files are opened only now: wrk cannot use a connection whose descriptor is a large number.
local function finish()
  leave('times', table.concat(times))
  leave('made', table.concat(made))
  leave('done', ('%d %d %.6f %.6f %s\n'):format(right, wrong, begun or 0, ended or 0, sample))
  wrk.thread:stop()
end

function response(status, _, body)
  if item > last then return finish() end
  ended = now()
  times[#times + 1] = ('%d %.6f\n'):format(item, ended - sent)
  local wanted, found = steps[step][1], body:match('"id":"([%x-]+)"')
  local fine = status == wanted or wanted == 0 and (status == 200 or status == 204)
  if fine and steps[step + 1] and not found then fine = false end
  if fine then
    right = right + 1
    if status == 201 then made[#made + 1] = ('%d %s\n'):format(item, found) end
  else
    wrong = wrong + 1
    if sample == '' then sample = status .. ' ' .. body:sub(1, 300):gsub('%s+', ' ') end
  end
  if fine and steps[step + 1] then
    step, id = step + 1, found
  else
    item, step, id = item + stride, 1, nil
  end
  if item > last then finish() end
end
