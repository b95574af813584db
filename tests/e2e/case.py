"""case.py: reads and writes case files: a pipeline, its data and what must come out, in one text."""
import gzip
import os
import re

SETTINGS = ("args", "exit", "stdin", "skip_reference", "spill")
SECTION = re.compile(rb"^-- (.+) --\n", re.M)
NAMED_ESCAPES = {b"\\": b"\\", b"r": b"\r", b"t": b"\t"}


class Case:
    """What is run: `inputs` are the files it starts with, `expected` what it must leave."""

    def __init__(self, name, path):
        self.name, self.path = name, path
        self.head = ""
        self.settings = {}
        self.inputs = []    # (name, bytes), in the order of the file.
        self.expected = {}  # Name to bytes; `stdout` and `stderr` are the streams.

    def programs(self):
        """The .sbd files that are run one behind the other: those in no folder."""
        return [name for name, _ in self.inputs if name.endswith(".sbd") and "/" not in name]

    def args(self):
        return self.settings.get("args", "").split()

    def exit_code(self):
        return int(self.settings.get("exit", "0"))

    def fill(self, folder):
        """Writes the inputs; what is called .gz is compressed."""
        for name, body in self.inputs:
            path = os.path.join(folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(gzip.compress(body, mtime=0) if name.endswith(".gz") else body)


    def save(self, found, exit_code):
        """Writes the case anew with what was found as what is expected."""
        head = re.sub(r"^exit: .*\n", "", self.head, flags=re.M)
        if exit_code:
            comments = re.match(r"(#.*\n)*", head).end()
            head = f"{head[:comments]}exit: {exit_code}\n{head[comments:]}"
        with open(self.path, "wb") as file:
            file.write(head.encode())
            for name, body in self.inputs:
                file.write(section(name, body))
            for name in sorted(found):
                file.write(section("expect " + name, found[name]))


def load(path, name, known=SETTINGS):
    """Reads a case, whose settings are among `known`."""
    case = Case(name, path)
    with open(path, "rb") as file:
        pieces = SECTION.split(file.read())
    case.head = pieces[0].decode()
    for line in case.head.splitlines():
        key, colon, value = line.partition(": ")
        if line.startswith("#") or not line:
            continue
        if not colon or key not in known:
            raise ValueError(f"{name}: '{line}' is neither a comment nor a setting")
        case.settings[key] = value
    for title, body in zip(pieces[1::2], pieces[2::2]):
        words = title.decode().split()
        if words[-1] == "escaped":
            words.pop()
            body = unescape(body)
        if words[0] == "expect":
            case.expected[words[1]] = body
        else:
            case.inputs.append((words[0], body))
    return case


def section(title, body):
    if is_plain(body):
        return f"-- {title} --\n".encode() + body
    escaped = re.sub(rb"[^\n\x20-\x7e]|\\", escape, body)
    if escaped and not escaped.endswith(b"\n"):
        escaped += b"\\\n"
    return f"-- {title} escaped --\n".encode() + escaped


def is_plain(body):
    """Shows an editor all there is to see, and would be read back the same."""
    if body and not body.endswith(b"\n") or SECTION.search(body):
        return False
    try:
        return not re.search(r"[^\n\x20-\x7e\u00a1-\ufefe]|[\u2028\ufffd]", body.decode())
    except UnicodeDecodeError:
        return False


def escape(match):
    byte = match[0]
    for letter, meaning in NAMED_ESCAPES.items():
        if meaning == byte:
            return b"\\" + letter
    return b"\\x%02x" % byte[0]


def unescape(body):
    body = body.replace(b"\\\n", b"")
    return re.sub(rb"\\(?:x([0-9a-f]{2})|(.))",
                  lambda m: bytes([int(m[1], 16)]) if m[1] else NAMED_ESCAPES[m[2]], body)
