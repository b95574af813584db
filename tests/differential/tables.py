"""tables.py: random source files: CSV in random dialects, JSON lines, plain text; clean, odd or hostile."""
import json
import math
import re
import struct

import kinds

# How often a cell is odd, and a row broken.
CLEAN, ODD, WILD = (0.0, 0.0), (0.01, 0.01), (0.08, 0.06)
BAD_BYTES = (b"\xff", b"\xc3", b"\xe2\x82", b"\xf0\x9f\x98", b"\xed\xa0\x80", b"\xc0\xaf")


class Table:
    """What a `read` names: its columns, options and pieces (rows with their line ends). Each of its
    files begins with `head`."""

    def __init__(self, form, columns, options, head, pieces):
        self.form, self.columns, self.options = form, columns, options
        self.head, self.pieces = head, pieces

    def head_of(self, _pieces):
        """What stands in front of these pieces in a file."""
        return self.head

    def file_of(self, pieces):
        """A file with these pieces."""
        return self.head_of(pieces) + pieces


class Values(Table):
    """JSON values in an array, or one after the other."""

    def __init__(self, random, columns, options, pieces):
        super().__init__("json", columns, options, [], pieces)
        self.array = random.random() < 0.7
        self.lead = random.choice((b"", b"", b" \n", b"\xef\xbb\xbf"))
        self.between = random.choice((b",", b",\n  ", b" , ", b"\n,"))
        self.tail = random.choice((b"]", b"]\n", b"\n ] \r\n"))
        self.broken = random.random()

    def file_of(self, pieces):
        if not self.array:
            return [self.lead, *pieces]
        file = [self.lead + b"["]
        for i, piece in enumerate(pieces):
            file += [piece, self.between] if i < len(pieces) - 1 else [piece]
        if self.broken < 0.1 and len(file) > 2:
            file.insert(len(file) // 2, (b",", b"]", b"7 ", b"[", b"{", b"\"")[int(self.broken * 60)])
        return file + ([] if 0.1 < self.broken < 0.12 else [self.tail])


class Dialect:
    """Of a CSV file, read or written."""

    def __init__(self, random, reading):
        self.delimiter = random.choice((",", ",", ",", ";", "|", "\t"))
        self.quote = random.choice(("\"", "\"", "\"", "'", ""))
        self.header = random.random() < 0.85
        self.comment = "#" if reading and random.random() < 0.15 else ""
        self.null = random.choice(([""], [""], ["NA"], ["", "NULL"], ["-", ""], ["not there", "NA"]))
        self.decimal = "," if random.random() < 0.1 and self.delimiter != "," else "."
        self.thousands = ""
        if reading and random.random() < 0.15:
            self.thousands = random.choice([c for c in ",.' _" if c not in (self.decimal, self.quote)])

    def options(self):
        found = []
        if self.delimiter != ",":
            found.append(f"delimiter = {kinds.quote(self.delimiter)}")
        if self.quote != "\"":
            found.append(f"quote = {kinds.quote(self.quote)}")
        if not self.header:
            found.append("header = false")
        if self.comment:
            found.append(f"comment = {kinds.quote(self.comment)}")
        if self.null != [""]:
            found.append(f"null = [{', '.join(map(kinds.quote, self.null))}]")
        if self.decimal != ".":
            found.append("decimal = \",\"")
        if self.thousands:
            found.append(f"thousands = {kinds.quote(self.thousands)}")
        return found

    def spelled(self, random, text):
        """A number as files of the dialect have it."""
        if self.decimal == ",":
            text = text.replace(".", ",")
        if not self.thousands or random.random() < 0.4:
            return text
        sign, digits = re.match("([+-]?)([0-9]*)", text).groups()
        step = 2 if random.random() < 0.03 else 3
        first = len(digits) % step or step
        groups = [digits[:first]] + [digits[i:i + step] for i in range(first, len(digits), step)]
        return sign + self.thousands.join(groups) + text[len(sign) + len(digits):]


class Cells:
    """Makes the text of cells and rows at a level of hostility."""

    def __init__(self, random, level):
        self.random = random
        self.odd, self.broken = level
        self.hostile = level != CLEAN

    def chance(self, share):
        return self.random.random() < share

    def csv(self, kind, nullable, dialect):
        if self.chance(self.odd):
            text = kinds.odd(self.random, kind)
        elif nullable and self.chance(0.25):
            return self.random.choice(dialect.null)
        elif kind == "str" and self.chance(0.15):  # A word of null that stays text, where it has no quotes.
            word = self.random.choice(dialect.null)
            return word if self.chance(0.7) else self.quoted(word, dialect)
        elif not nullable and self.chance(self.odd):
            return ""
        else:
            text = kinds.canonical(self.random, kind, self.hostile)
            if kind in kinds.FLOATS or kind.startswith("decimal"):
                text = dialect.spelled(self.random, text)
            elif kind in kinds.INTEGERS:
                text = dialect.spelled(self.random, text)
        return self.quoted(text, dialect)

    def quoted(self, text, dialect):
        q = dialect.quote
        if not q:
            wanted = text if self.chance(self.odd) else text.translate({10: " ", 13: " ", ord(dialect.delimiter): "_"})
            return wanted
        needs = any(c in text for c in (dialect.delimiter, q, "\n", "\r")) or self.chance(0.1)
        needs = needs or text in dialect.null or dialect.comment and text.startswith(dialect.comment)
        if needs and not self.chance(self.odd):
            return q + text.replace(q, q + q) + q
        return text

    def csv_row(self, columns, dialect, line_end):
        cells = [self.csv(k, q, dialect) for _, k, q in columns]
        if self.chance(self.broken):
            self.break_cells(cells, dialect)
        row = dialect.delimiter.join(cells).encode("utf-8", "surrogatepass")
        return self.bytes_of(row) + line_end

    def break_cells(self, cells, dialect):
        at = self.random.randrange(len(cells))
        roll = self.random.random()
        if roll < 0.3:
            cells.append("extra")
        elif roll < 0.5:
            del cells[at]
        elif roll < 0.7 and dialect.quote:
            cells[at] = dialect.quote + "x" + dialect.quote + "y"
        elif roll < 0.75 and dialect.quote and self.chance(0.3):
            cells[at] = dialect.quote + "never closed"
        else:
            cells[at] = "  " + cells[at] + " "

    def bytes_of(self, row):
        if not self.chance(self.broken / 2):
            return row
        at = self.random.randrange(len(row) + 1)
        return row[:at] + self.random.choice(BAD_BYTES) + row[at:]

    def json_row(self, columns, line_end):
        pairs = []
        for name, kind, nullable in columns:
            if nullable and self.chance(0.2) or self.chance(self.odd / 2):
                continue
            if self.chance(self.odd):
                text = kinds.json_odd(self.random, kind)
            else:
                text = kinds.json_or_null(self.random, kind, nullable, self.hostile)
            pairs.append(self.key(name) + self.random.choice((":", ": ")) + text)
            if self.chance(self.odd / 4):
                pairs.append(pairs[-1])
        if self.chance(0.2):
            pairs.append(f"\"other\": {kinds.json_of(self.random, kinds.nested(self.random))}")
        if self.chance(0.3):
            self.random.shuffle(pairs)
        row = ("{" + self.random.choice((",", ", ")).join(pairs) + "}").encode("utf-8", "surrogatepass")
        if self.chance(self.broken):
            row = self.random.choice((row[:-1], row + b"x", b"[" + row + b"]", row.replace(b":", b"", 1), b"null",
                                      row + b",", b" " + row + b" ", row.replace(b"\"", b"\"\x01", 1),
                                      row.replace(b"}", b",}", 1), b"{}", b"\t", b"\xef\xbb\xbf" + row))
        return self.bytes_of(row) + line_end

    def key(self, name):
        if self.chance(0.05):
            return "\"" + "".join(f"\\u{ord(c):04x}" for c in name) + "\""
        return json.dumps(name)


def line_end(random, style):
    return random.choice((b"\n", b"\r\n")) if style == "mixed" else style


def row_count(random, sizes):
    return random.randint(*random.choice(sizes))


def columns_of(random, json_too):
    names = random.sample(("a", "b", "c", "d", "e", "id", "name", "x y", "value", "when", "type"), random.randint(1, 6))
    if random.random() < 0.04:  # A wide row (codegen/emit_wide.c).
        names += [f"w{i}" for i in range(random.randint(60, 90))]
    kind = kinds.nested if json_too else lambda r: "json" if r.random() < 0.04 else kinds.scalar(r)
    return [(name, kind(random), random.random() < 0.35) for name in names]


def csv(random, sizes):
    columns = columns_of(random, False)
    dialect = Dialect(random, True)
    if any(dialect.null) and random.random() < 0.5:  # Words of null in it stay text.
        at = random.randrange(len(columns))
        columns[at] = (columns[at][0], "str", False)
    cells = Cells(random, random.choice((CLEAN, ODD, ODD, WILD)))
    style = random.choice((b"\n", b"\n", b"\n", b"\r\n", "mixed"))
    head, pieces = [], []
    if dialect.header:
        heads = [n for n, _, _ in columns]
        if random.random() < 0.2:
            random.shuffle(heads)
        order = [next(c for c in columns if c[0] == n) for n in heads]
        if random.random() < 0.15:
            heads.append("extra")
            order.append(("extra", "str", False))
        head.append(dialect.delimiter.join(heads).encode() + line_end(random, style))
    else:
        order = columns
    options = dialect.options() + read_options(random)
    if dialect.header and random.random() < 0.1:
        columns = [*columns, ("lacking", kinds.scalar(random), True)]
        options.append("missing = null")
    lead(random, dialect, style, head, options)
    if random.random() < 0.1:
        head.insert(0, b"\xef\xbb\xbf")
    for _ in range(row_count(random, sizes)):
        end = line_end(random, style)
        pieces.append(cells.csv_row(order, dialect, end))
        if random.random() < 0.02:
            pieces.append(end)
        if dialect.comment and random.random() < 0.05:
            pieces.append(b"# a \" comment" + end)
    drop_last_end(random, pieces)
    return encoded(random, Table("csv", columns, options, head, pieces))


def lead(random, dialect, style, head, options):
    """Lines in front of the header: those that are skipped, and one that names the delimiter."""
    if random.random() < 0.05:
        head.insert(0, b"sep=" + dialect.delimiter.encode() + line_end(random, style))
    if random.random() < 0.1:
        lines = [random.choice((b"", b"a \" title", b"x,y;z")) + line_end(random, style) for _ in range(random.randint(1, 3))]
        head[:0] = lines
        options.append(f"skip = {len(lines)}")


# Those that Python knows by the same name, and how often.
ENCODINGS = ("windows-1252", "windows-1252", "iso-8859-1", "iso-8859-15", "windows-1251", "koi8-r", "cp437", "utf-16",
             "utf-16", "utf-16le", "utf-16be")


def encoded(random, table):
    """The same table, sometimes in another encoding; what is no text of it stays wrong."""
    if random.random() > 0.1:
        return table
    name = random.choice(ENCODINGS)
    table.options.append(f"encoding = \"{name}\"")
    big = name == "utf-16" and random.random() < 0.3
    codec = {"utf-16": "utf-16-be" if big else "utf-16-le"}.get(name, name)

    def encode(piece):
        text = piece.decode("utf-8", "surrogateescape")
        if name.startswith("utf-16"):
            return text.encode(codec, "surrogatepass")
        piece = text.encode(codec, "replace")
        return piece.replace(b"a", b"\x81", 1) if random.random() < 0.01 else piece

    table.head = [encode(piece) for piece in table.head]
    table.pieces = [encode(piece) for piece in table.pieces]
    if name == "utf-16" and (big or random.random() < 0.5):
        table.head.insert(0, b"\xfe\xff" if big else b"\xff\xfe")
    return table


def values(random, sizes):
    columns = columns_of(random, True)
    cells = Cells(random, random.choice((CLEAN, ODD, ODD, WILD)))
    end = random.choice((b"", b"\n", b" "))
    pieces = [cells.json_row(columns, end) for _ in range(row_count(random, sizes))]
    if random.random() < 0.4:  # Over several lines.
        pieces = [piece.replace(b",\"", b",\n  \"") for piece in pieces]
    return Values(random, columns, read_options(random), pieces)


def jsonl(random, sizes):
    columns = columns_of(random, True)
    cells = Cells(random, random.choice((CLEAN, ODD, ODD, WILD)))
    style = random.choice((b"\n", b"\n", b"\r\n", "mixed"))
    pieces = [cells.json_row(columns, line_end(random, style)) for _ in range(row_count(random, sizes))]
    drop_last_end(random, pieces)
    return encoded(random, Table("jsonl", columns, read_options(random), [], pieces))


def text(random, sizes):
    cells = Cells(random, random.choice((CLEAN, ODD, WILD)))
    pieces = []
    for _ in range(row_count(random, sizes)):
        line = kinds.word(random, cells.hostile).replace("\n", " ")
        pieces.append(cells.bytes_of(line.encode()) + random.choice((b"\n", b"\n", b"\r\n")))
    drop_last_end(random, pieces)
    return encoded(random, Table("text", [("line", "str", False)], [], [], pieces))


# By kind: the type that an npy file says, and how Python packs a value.
NPY = {"bool": ("|b1", "?"), "i8": ("|i1", "b"), "i16": ("i2", "h"), "i32": ("i4", "i"), "i64": ("i8", "q"),
       "u8": ("|u1", "B"), "u16": ("u2", "H"), "u32": ("u4", "I"), "u64": ("u8", "Q"),
       "f16": ("f2", "e"), "f32": ("f4", "f"), "f64": ("f8", "d")}


class NpyTable(Table):
    """Its header counts the pieces of a file; a few are wrong."""

    def __init__(self, kind, order, wrong, pieces, shape=()):
        column = ("tensor", kind, shape) if shape else kind
        super().__init__("npy", [("v", column, False)], [], [], pieces)
        self.element, self.order, self.wrong, self.shape = kind, order, wrong, shape

    def head_of(self, pieces):
        descr = NPY[self.element][0]
        descr = descr if descr[0] == "|" else self.order + descr
        shape = (len(pieces) + self.wrong, *self.shape)
        text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".encode()
        text += b" " * (-(len(text) + 11) % 64) + b"\n"
        return [b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text]


def npy(random, sizes):
    kind, order = random.choice(list(NPY)), random.choice("<>")
    shape = random.choice(kinds.SHAPES) if random.random() < 0.5 else ()
    count = row_count(random, sizes)
    pieces = [b"".join(npy_value(random, kind, order) for _ in range(math.prod(shape))) for _ in range(count)]
    return NpyTable(kind, order, 1 if random.random() < 0.03 else 0, pieces, shape)


def npy_value(random, kind, order):
    letter = NPY[kind][1]
    if kind == "bool":
        value = random.random() < 0.5
    elif kind in kinds.FLOATS:
        value = random.choice((0.0, -0.0, 1.5, float("nan"), float("inf"), random.randint(-99, 99),
                               random.gauss(0, 1e4 if kind == "f16" else 1e6)))
    else:
        bits = 8 * struct.calcsize("<" + letter)
        low, high = (0, 2 ** bits - 1) if kind[0] == "u" else (-2 ** (bits - 1), 2 ** (bits - 1) - 1)
        value = random.choice((low, high, random.randint(low, high), random.randint(max(low, -9), 9)))
    return struct.pack(order + letter, value)


def read_options(random):
    options = []
    if random.random() < 0.08:
        options.append("zone = \"Europe/Berlin\"")
    if random.random() < 0.05:
        options.append(f"row_max = {random.choice((40, 100, 1000))}B")
    return options


def drop_last_end(random, pieces):
    if pieces and random.random() < 0.2:
        pieces[-1] = pieces[-1].rstrip(b"\r\n")
