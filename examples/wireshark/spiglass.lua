-- A post-dissector for Wireshark and tshark: what `spiglass match --format csv --table pairs` says of the frames of the tunnel's capture,
-- as fields that filters and columns can use: spiglass.plain_frame, spiglass.delay_us, spiglass.overhead, spiglass.confidence.
-- The file is named by the environment variable SPIGLASS_PAIRS.

local spiglass = Proto("spiglass", "spiglass match")
local plain_frame = ProtoField.uint32("spiglass.plain_frame", "Plaintext frame")
local delay_us = ProtoField.double("spiglass.delay_us", "Delay in us")
local overhead = ProtoField.int32("spiglass.overhead", "Overhead in bytes")
local confidence = ProtoField.double("spiglass.confidence", "Confidence")
spiglass.fields = { plain_frame, delay_us, overhead, confidence }

-- Rows by number of the tunnel's frame.
local rows = {}

-- The cells of a line; a cell in quotes may hold commas, and a quote in one is written twice.
local function cells(line)
    local all, at = {}, 1
    while at <= #line + 1 do
        if line:sub(at, at) == '"' then
            local cell, last = "", at + 1
            while true do
                local quote = line:find('"', last, true) or #line + 1
                cell = cell .. line:sub(last, quote - 1)
                if line:sub(quote + 1, quote + 1) ~= '"' then
                    at = quote + 2
                    break
                end
                cell, last = cell .. '"', quote + 2
            end
            all[#all + 1] = cell
        else
            local comma = line:find(",", at, true) or #line + 1
            all[#all + 1] = line:sub(at, comma - 1)
            at = comma + 1
        end
    end
    return all
end

local function read(path)
    local file, why = io.open(path, "r")
    if not file then
        report_failure("spiglass: " .. why)
        return
    end
    local column = {}
    for at, name in ipairs(cells(file:read("*l") or "")) do
        column[name] = at
    end
    if not (column.tunnel_frame and column.plain_frame and column.delay_ns) then
        report_failure("spiglass: " .. path .. " is no table of pairs")
        file:close()
        return
    end
    for line in file:lines() do
        local row = cells(line)
        rows[tonumber(row[column.tunnel_frame])] = {
            plain_frame = tonumber(row[column.plain_frame]),
            delay_ns = tonumber(row[column.delay_ns]),
            overhead = tonumber(row[column.overhead_bytes]),
            confidence = tonumber(row[column.confidence]),
        }
    end
    file:close()
end

function spiglass.init()
    rows = {}
    local path = os.getenv("SPIGLASS_PAIRS")
    if path then
        read(path)
    end
end

function spiglass.dissector(_, pinfo, tree)
    local row = rows[pinfo.number]
    if not row then
        return
    end
    local own = tree:add(spiglass)
    own:add(plain_frame, row.plain_frame)
    if row.delay_ns then
        own:add(delay_us, row.delay_ns / 1000)
    end
    if row.overhead then
        own:add(overhead, row.overhead)
    end
    if row.confidence then
        own:add(confidence, row.confidence)
    end
end

register_postdissector(spiglass)
