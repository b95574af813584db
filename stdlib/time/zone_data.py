"""Writes stdlib/time/zone_data.bin: the time zone rules as blocks of SbZone (stdlib/time/zone.h).

Run: python3 stdlib/time/zone_data.py /usr/share/zoneinfo   (Debian's tzdata, or the PyPI package's folder)

File: "SBZ1", version text (12 bytes, zero padded), number of names, number of blocks (u32), then for
each name {u32 offset of its text, u32 length, u32 offset of its block, u32 0} in byte order, the texts,
and the blocks, aligned to 8. All little endian. Zones of equal rules share a block.
"""
import pathlib
import re
import struct
import sys

ROOT = pathlib.Path(sys.argv[1])
OUT = pathlib.Path(__file__).with_name("zone_data.bin")


def read_tzif(data):
    """The transitions [(at, offset)], the offset before them, and the footer, of version 2 and up."""
    def header(at):
        assert data[at:at + 4] == b"TZif" and data[at + 4:at + 5] >= b"2"
        return struct.unpack(">6I", data[at + 20:at + 44])
    utc, std, leap, times, types, chars = header(0)
    at = 44 + times * 5 + types * 6 + chars + leap * 8 + std + utc
    utc, std, leap, times, types, chars = header(at)
    at += 44
    instants = struct.unpack(f">{times}q", data[at:at + 8 * times])
    at += 8 * times
    kinds = data[at:at + times]
    at += times
    offsets = [struct.unpack(">iBB", data[at + 6 * i:at + 6 * i + 6])[0] for i in range(types)]
    at += 6 * types + chars + leap * 12 + std + utc
    footer = data[at:].strip(b"\n").decode()
    moves = []
    last = offsets[0]
    for instant, kind in zip(instants, kinds):
        if instant > -2**58 and offsets[kind] != last:
            moves.append((instant, offsets[kind]))
            last = offsets[kind]
    return moves, offsets[0], footer


NAME = r"(?:<[^>]+>|[A-Za-z]+)"
TIME = r"[+-]?\d+(?::\d+(?::\d+)?)?"


def seconds(text):
    sign = -1 if text.startswith("-") else 1
    parts = [int(x) for x in text.lstrip("+-").split(":")] + [0, 0]
    return sign * (parts[0] * 3600 + parts[1] * 60 + parts[2])


def change(text):
    day, _, time = text.partition("/")
    at = seconds(time) if time else 7200
    if day.startswith("M"):
        month, week, weekday = map(int, day[1:].split("."))
        return (0, month, week, weekday, at)
    if day.startswith("J"):
        return (1, 0, 0, int(day[1:]), at)
    return (2, 0, 0, int(day), at)


def read_footer(footer):
    found = re.fullmatch(f"{NAME}({TIME})(?:{NAME}({TIME})?,([^,]+),([^,]+))?", footer)
    assert found, footer
    standard = -seconds(found[1])
    if not found[3]:
        return standard, standard, (0,) * 5, (0,) * 5
    summer = -seconds(found[2]) if found[2] else standard + 3600
    return standard, summer, change(found[3]), change(found[4])


def days_from_civil(year, month, day):
    import datetime
    return (datetime.date(year, month, day) - datetime.date(1970, 1, 1)).days


def change_day(year, rule):
    kind, month, week, day, _ = rule
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if kind == 1:
        return days_from_civil(year, 1, 1) + day - 1 + (leap and day >= 60)
    if kind == 2:
        return days_from_civil(year, 1, 1) + day
    first = days_from_civil(year, month, 1)
    length = [31, 28 + leap, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1]
    at = (day - (first + 4)) % 7 + 7 * (week - 1)
    return first + (at if at < length else at - 7)


def trim(moves, standard, summer, begin, end):
    """Drops the last transitions that the rule gives by itself."""
    if standard == summer:
        while len(moves) > 1 and moves[-1][1] == moves[-2][1]:
            moves.pop()
        return moves
    ruled = set()
    for year in range(1970, 2038):
        ruled.add((change_day(year, begin) * 86400 + begin[4] - standard, summer))
        ruled.add((change_day(year, end) * 86400 + end[4] - summer, standard))
    kept = list(moves)
    while len(kept) > 1 and kept[-1] in ruled:
        kept.pop()
    return moves[:len(kept) + 1]  # The first one of the rule says where it begins.


def block(data):
    moves, before, footer = read_tzif(data)
    standard, summer, begin, end = read_footer(footer)
    moves = trim(moves, standard, summer, begin, end)
    body = b"".join(struct.pack("<q", at) for at, _ in moves)
    body += b"".join(struct.pack("<i", offset) for _, offset in moves)
    head = struct.pack("<iii", before, standard, summer)
    head += struct.pack("<hhhhi", *begin) + struct.pack("<hhhhi", *end) + struct.pack("<I", 0)
    size = 8 + len(head) + len(body)
    return struct.pack("<II", (size + 7) // 8 * 8, len(moves)) + head + body


def chains(names):
    """For each name the first name of a chain, and the next one in its own: numbers and 1, or 0."""
    first, following = [0] * len(names), [0] * len(names)
    for number in reversed(range(len(names))):
        digest = 2166136261
        for byte in names[number].encode():
            digest = (digest ^ byte) * 16777619 & 0xffffffff
        chain = digest % len(names)
        following[number], first[chain] = first[chain], number + 1
    return first, following


def main():
    zones = {}
    for path in sorted(ROOT.rglob("*")):
        name = path.relative_to(ROOT).as_posix()
        if path.is_file() and not name.startswith(("posix", "right", "localtime")):
            data = path.read_bytes()
            if data[:4] == b"TZif":
                zones[name] = block(data)
    version = (ROOT / "tzdata.zi").read_text().splitlines()[0].split()[-1].encode()
    names = sorted(zones, key=lambda n: n.encode())
    blocks = sorted(set(zones.values()))
    texts = b"".join(n.encode() for n in names)
    start = 24 + 16 * len(names)
    at = (start + len(texts) + 7) // 8 * 8
    padding = at - start - len(texts)
    places = {}
    for b in blocks:
        places[b] = at
        at += (len(b) + 7) // 8 * 8
    out = b"SBZ1" + version.ljust(12, b"\0") + struct.pack("<II", len(names), len(blocks))
    text_at = start
    for name, first, following in zip(names, *chains(names)):
        out += struct.pack("<IIIHH", text_at, len(name.encode()), places[zones[name]], first, following)
        text_at += len(name.encode())
    out += texts + b"\0" * padding
    for b in blocks:
        out += b.ljust((len(b) + 7) // 8 * 8, b"\0")
    OUT.write_bytes(out)
    print(f"{OUT}: version {version.decode()}, {len(names)} names, {len(blocks)} zones, {len(out)} bytes")


main()
