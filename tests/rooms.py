#!/usr/bin/env python3
"""rooms.py: which rooms of runtime/ and stdlib/ use which, as a check, a table and a picture.

usage: tests/rooms.py            checks the rooms; one line of results at the end
       tests/rooms.py --table    prints files, lines and cycles of each room
       tests/rooms.py --write    draws docs/images/rooms.svg anew

A room uses another one where a file of it includes a header of that room, or calls a function that the
room defines. Both have to lead to rooms that tests/tidy.c lists before. Within a room files may call
each other in a circle if the public header of the room says why, in a line `// Circle: FILE, FILE: WHY`.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs/images/rooms.svg"
INCLUDE = re.compile(r'^#include "([^"]+)"', re.M)
COMPILER = re.compile(r'^#include "(?:codegen|frontend|ir)/', re.M)
DEFINED = re.compile(r"^(?!static|typedef|enum|INLINE|struct \w+ \{)[A-Za-z_][\w \*]*?\b(\w+)\([^;{}#]*\) \{", re.M)
COMMENT = re.compile(r"//[^\n]*|\"(?:[^\"\\\n]|\\.)*\"")


def room_names():
    """All rooms, lowest first, as tests/tidy.c orders them."""
    text = (ROOT / "tests/tidy.c").read_text()
    table = re.search(r"rooms\[\] = \{(.*?)\};", text, re.S)[1]
    return [name.rstrip("/") for name in re.findall(r'"([^"]+)"', table)]


class House:
    """The rooms with their files, and who uses whom."""

    def __init__(self):
        self.rooms = room_names()
        self.rank = {room: at for at, room in enumerate(self.rooms)}
        self.texts = {}
        for folder in ("runtime", "stdlib"):
            for path in sorted((ROOT / folder).rglob("*.[chd]*")):
                if path.suffix in (".c", ".h", ".def"):
                    self.texts[str(path.relative_to(ROOT))] = path.read_text()
        self.files = {room: [] for room in self.rooms}
        for path in self.texts:
            self.files[self.room_of(path)].append(path)
        self.calls = self.find_calls()
        self.uses = {room: {} for room in self.rooms}  # Room used: one place that says so.
        self.find_uses()

    def room_of(self, path):
        """The room of a file: of its folder, or of the public header beside that."""
        parts = re.sub(r"\.h$", "", path).split("/")
        names = ["/".join(parts[:n]) for n in range(len(parts), 1, -1)]
        return next((name for name in names if name in self.rank), None)

    def find_calls(self):
        """By file: the files that define a function which it names."""
        maker = {}
        for path, text in self.texts.items():
            if path.endswith(".c"):
                maker.update((name, path) for name in DEFINED.findall(text) if name != "main")
        calls = {path: [] for path in self.texts}
        for path, text in self.texts.items():
            # A header declares what a room above may define. A file of the compiler, as the emitter of
            # a format, calls functions that are no part of these rooms.
            if not path.endswith(".c") or COMPILER.search(text):
                continue
            words = set(re.findall(r"\b\w+(?=\()|(?<=[ ,={(&])\w+(?=[,;)}\n])", COMMENT.sub("", text)))
            own = set(re.findall(r"^static [\w \*]*?\b(\w+)\(", text, re.M))
            found = {maker[word] for word in words - own if word in maker}
            calls[path] = sorted(found - {path})
        return calls

    def find_uses(self):
        for path, text in self.texts.items():
            room = self.room_of(path)
            for what in INCLUDE.findall(text) + self.calls[path]:
                other = self.room_of(what)
                if other and other != room:
                    self.uses[room].setdefault(other, f"{path} uses {what}")

    def upward(self):
        """Uses that lead to a higher room, as sentences."""
        return [f"{place}, which is in a higher room" for room, used in self.uses.items()
                for other, place in used.items() if self.rank[other] > self.rank[room]]

    def circles(self, room):
        """Sets of files of a room that call each other."""
        files = self.files[room]
        reach = {path: {path} for path in files}
        for _ in files:
            for path in files:
                for other in self.calls[path]:
                    if other in reach:
                        reach[path] |= reach[other]
        found = {frozenset(o for o in reach[path] if path in reach[o]) for path in files}
        return sorted(sorted(circle) for circle in found if len(circle) > 1)

    def stated(self, room):
        """The circles that the public header of a room gives a reason for."""
        header = f"{room}.h"
        lines = re.findall(r"^// Circle: ((?:\w+,\s(?:// )?)*\w+):\s\S", self.texts.get(header, ""), re.M)
        return {frozenset(re.findall(r"\w+", line)) for line in lines}

    def reduced(self):
        """By room: the rooms that it uses and reaches in no other way."""
        below = {}
        for room in self.rooms:
            used = [other for other in self.uses[room] if self.rank[other] < self.rank[room]]
            below[room] = set(used).union(*(below[other] for other in used))
        return {room: sorted((other for other in below[room] & self.uses[room].keys()
                              if not any(other in below[third] for third in self.uses[room]
                                         if third in below[room])),
                             key=self.rank.get) for room in self.rooms}


# ---- the table ---------------------------------------------------------------------------------


def base(path):
    return re.sub(r"\.[a-z]+$", "", path.split("/")[-1])


def print_table(house):
    print("| room | files | lines | uses | circles of calls inside |")
    print("|---|--:|--:|--:|---|")
    for room in reversed(house.rooms):
        files = house.files[room]
        lines = sum(house.texts[path].count("\n") for path in files)
        circles = "; ".join(", ".join(map(base, circle)) for circle in house.circles(room))
        print(f"| `{room}` | {len(files)} | {lines:,} | {len(house.uses[room])} | {circles} |")
    texts = house.texts.values()
    print(f"| all | {len(texts)} | {sum(text.count(chr(10)) for text in texts):,} | | |")


# ---- the picture -------------------------------------------------------------------------------
#
# Rows from the lowest room up: a room stands above all that it uses. An arrow that passes rows has a
# place of its own in each of them, so that it meets no room. Places are put in order by the mean of
# their neighbours, then shifted as little as their widths ask for.

WIDTH, ROW, BOX, MARGIN = 900, 66, 30, 12
LETTER, PAD, LANE, GAP = 7.6, 12, 12, 26


class Place:
    """A room in its row, or an arrow on its way past the row."""

    def __init__(self, room=None):
        self.room = room
        self.width = PAD * 2 + LETTER * len(room.split("/")[-1]) if room else LANE
        self.x = 0.0
        self.up, self.down = [], []


def make_rows(house, arrows):
    level = {}
    for room in house.rooms:
        level[room] = 1 + max((level[other] for other in arrows[room]), default=-1)
    places = {room: Place(room) for room in house.rooms}
    rows = [[] for _ in range(max(level.values()) + 1)]
    for room in house.rooms:
        rows[level[room]].append(places[room])
    ways = []
    for room in house.rooms:
        for other in arrows[room]:
            way = [places[room]]
            for at in range(level[room] - 1, level[other], -1):
                way.append(Place())
                rows[at].append(way[-1])
            way.append(places[other])
            for upper, lower in zip(way, way[1:]):
                upper.down.append(lower)
                lower.up.append(upper)
            ways.append(way)
    return rows, ways


def mean(values, other):
    return sum(values) / len(values) if values else other


def order_rows(rows):
    best, least = None, None
    for row in rows:
        for at, place in enumerate(row):
            place.x = at
    for turn in range(60):
        side = "down" if turn % 2 == 0 else "up"
        for row in rows if side == "down" else reversed(rows):
            row.sort(key=lambda place: mean([o.x for o in getattr(place, side)], place.x))
            for at, place in enumerate(row):
                place.x = at - (len(row) - 1) / 2
        count = crossings(rows)
        if least is None or count < least:
            best, least = [list(row) for row in rows], count
    for row, good in zip(rows, best):
        row[:] = good


def crossings(rows):
    count = 0
    for lower, upper in zip(rows, rows[1:]):
        at = {id(place): i for i, place in enumerate(lower)}
        ends = [at[id(o)] for place in upper for o in sorted(place.down, key=lambda o: at[id(o)])]
        count += sum(a > b for i, a in enumerate(ends) for b in ends[i + 1:])
    return count


def spread(row, wanted):
    """Puts the places of a row as near as can be to where they want to be, side by side."""
    offset, at = [], 0.0
    for place in row:
        offset.append(at + place.width / 2)
        at += place.width + GAP
    blocks = []  # [sum, count]: neighbours that touch move as one.
    for want, own in zip(wanted, offset):
        blocks.append([want - own, 1])
        while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] > blocks[-1][0] / blocks[-1][1]:
            last = blocks.pop()
            blocks[-1] = [blocks[-1][0] + last[0], blocks[-1][1] + last[1]]
    shift = [total / count for total, count in blocks for _ in range(count)]
    room = WIDTH - 2 * MARGIN - (at - GAP)
    for place, own, move in zip(row, offset, shift):
        place.x = MARGIN + own + min(max(move - MARGIN, 0), max(room, 0))


def place_rows(rows):
    for row in rows:
        spread(row, [WIDTH / 2 + place.x * 60 for place in row])
    for turn in range(40):
        side = "down" if turn % 2 == 0 else "up"
        for row in rows if side == "down" else reversed(rows):
            spread(row, [mean([o.x for o in getattr(place, side)], place.x) for place in row])


def draw(house):
    arrows = house.reduced()
    rows, ways = make_rows(house, arrows)
    order_rows(rows)
    place_rows(rows)
    height = ROW * len(rows)
    top = {id(place): height - ROW * at - (ROW + BOX) / 2
           for at, row in enumerate(rows) for place in row}
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
           f'height="{height}" font-family="sans-serif" font-size="14">',
           "<title>Rooms: each uses those that its arrows lead down to</title>",
           f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
           '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
           'orient="auto"><path d="M0 1 L8 4 L0 7 z" fill="#667788"/></marker></defs>']
    for way in ways:
        d = f"M{way[0].x:.1f} {top[id(way[0])] + BOX:.1f}"
        y = top[id(way[0])] + BOX
        for upper, lower in zip(way, way[1:]):
            x, to = lower.x, top[id(lower)]
            half = (y + to) / 2
            d += f" C{upper.x:.1f} {half:.1f} {x:.1f} {half:.1f} {x:.1f} {to:.1f}"
            y = to
            if lower.room is None:
                y = to + BOX
                d += f" V{y:.1f}"
        out.append(f'<path d="{d}" fill="none" stroke="#667788" marker-end="url(#tip)"/>')
    for row in rows:
        for place in row:
            if not place.room:
                continue
            folder, name = place.room.split("/")[0], place.room.split("/")[-1]
            fill = "#dcebfb" if folder == "runtime" else "#e6f4dc"
            y = top[id(place)]
            out.append(f'<rect x="{place.x - place.width / 2:.1f}" y="{y:.1f}" width="{place.width:.1f}" '
                       f'height="{BOX}" rx="4" fill="{fill}" stroke="#445566"/>')
            out.append(f'<text x="{place.x:.1f}" y="{y + BOX / 2 + 5:.1f}" text-anchor="middle" '
                       f'fill="#112233">{name}</text>')
    for at, (fill, name) in enumerate((("#dcebfb", "runtime/"), ("#e6f4dc", "stdlib/"))):
        y = MARGIN + at * 22
        out.append(f'<rect x="{MARGIN}" y="{y}" width="16" height="16" rx="3" fill="{fill}" stroke="#445566"/>')
        out.append(f'<text x="{MARGIN + 22}" y="{y + 12}" fill="#112233">{name}</text>')
    boxes = sum(place.width for row in rows for place in row if place.room)
    assert boxes > 0 and all(width_of(row) <= WIDTH - 2 * MARGIN for row in rows), "a row is too wide"
    return "\n".join(out + ["</svg>", ""])


def width_of(row):
    return sum(place.width + GAP for place in row) - GAP


# ---- the checks --------------------------------------------------------------------------------


def check(house):
    upward = house.upward()
    problems = [upward]
    for room in house.rooms:
        found = {frozenset(map(base, circle)) for circle in house.circles(room)}
        stated = house.stated(room)
        here = [f"{room}.h: files that call each other need a reason: // Circle: "
                f"{', '.join(sorted(circle))}: WHY" for circle in sorted(found - stated, key=sorted)]
        here += [f"{room}.h: these files form no circle: {', '.join(sorted(circle))}"
                 for circle in sorted(stated - found, key=sorted)]
        used = any(room in house.uses[other] for other in house.rooms)
        if used and f"{room}.h" not in house.texts:
            here.append(f"{room}.h: other rooms use what has no public header")
        problems.append(here)
    same = PICTURE.exists() and PICTURE.read_text() == draw(house)
    problems.append([] if same else ["docs/images/rooms.svg is old: tests/rooms.py --write"])
    for problem in sum(problems, []):
        print("FAIL:", problem)
    failed = sum(bool(found) for found in problems)
    print(f"rooms: {len(problems) - failed} passed, {failed} failed, 0 skipped")
    return failed > 0


def main(args):
    house = House()
    if args == ["--table"]:
        print_table(house)
    elif args == ["--write"]:
        PICTURE.write_text(draw(house))
    elif args:
        print(__doc__, end="")
        return 2
    else:
        return check(house)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
