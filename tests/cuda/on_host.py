"""on_host.py: the text of kernels, compiled for the host (host.h) and run there over columns between guards."""
import ctypes
import re
import struct

from rows import BITS, FORMATS, bf16_bits, elements, flat, of_bf16
from tools import CLANG, ROOT, Wrong, run

LAUNCHES = ((1, 1), (3, 5))  # Blocks and threads.
WARP_LAUNCHES = ((1, 32), (3, 64))  # Of kernels with shuffles.
BLOCK_LAUNCHES = ((2, 256),)  # Of kernels that have a warp for each block of the tree.


class Kernel:
    """What the text says of one kernel: its name and the columns of its struct."""

    def __init__(self, name, body):
        self.name = name
        self.fields = []  # (field, type, column or None, is input)
        column = None
        for line in body.splitlines():
            found = re.match(r"    (const )?(\w+) \*([xy]\d+n?);(?:  // (.*))?", line)
            if found:
                column = found[4] or column
                self.fields.append((found[3], found[2], column.strip("`"), bool(found[1])))
            found = re.match(r"    alignas\(8\) (\w+) (p\d+);", line)
            if found:
                self.fields.append((found[2], found[1], None, True))


class Groups:
    """The table of groups that a kernel fills, as its comments say."""

    def __init__(self, lanes, heads, slots, stride, lines):
        self.lanes, self.heads, self.slots, self.stride = int(lanes), int(heads), int(slots), int(stride)
        self.keys = [(int(bits), kind, name) for bits, kind, name in re.findall(r"(\d+) bits of the key: (\S+) of (\S+)", lines)]
        self.aggs = [(int(value), int(beyond or 0), int(count), how, kind, name) for value, beyond, count, how, kind, name in
                     re.findall(r"word (\d+)(?: and (\d+))?, word (\d+): (\w+) (\S*) of (\S+)", lines)]

    def numbers(self):
        return self.heads + self.slots * self.stride

    def key(self, bits):
        values = {}
        for width, kind, name in reversed(self.keys):
            value, bits = bits & (1 << width) - 1, bits >> width
            if kind.endswith("?"):
                there, value, width = value & 1, value >> 1, width - 1
            else:
                there = 1
            if kind[0] == "i" and value >> width - 1:
                value -= 1 << width
            values[name] = None if not there else bool(value) if kind.startswith("bool") else value
        if bits != 1:
            raise Wrong(f"a key has the bits {bits} on top")
        return {name: values[name] for _, _, name in self.keys}

    def agg(self, words, value, beyond, count, how, kind, name):
        if how == "count":
            return words[count]
        if how == "bools":
            return words[value], words[count]
        number = words[value]
        if how == "least":
            number ^= (1 << 64) - 1
        if how == "sum":
            number |= words[beyond] << 64
            number -= number >> 127 << 128
        elif kind[0] == "i":
            number -= 1 << 63
        if name.startswith("mean"):
            return float(number) / float(words[count]) if words[count] else None
        return number if words[count] or how == "sum" else None

    def read(self, numbers):
        """Groups in the order of their first rows, and how many rows filters took out."""
        groups = []
        for at in range(self.heads, len(numbers), self.stride):
            key, first, *words = numbers[at:at + self.stride]
            if first:
                row = self.key(key)
                row.update((agg[-1], self.agg(words, *agg)) for agg in self.aggs)
                groups.append((first ^ (1 << 64) - 1, row))
        return {"groups": [row for _, row in sorted(groups, key=lambda x: x[0])], "rows": sum(numbers[:self.heads])}


def groups_of(text, name):
    found = re.search(rf"^// {name}\.groups: blocks of (\d+) lanes, (\d+) numbers, (\d+) slots of (\d+) words\n((?://   .*\n)*)", text, re.M)
    return Groups(*found.groups()) if found else None


def kernels_of(text):
    kernels = [Kernel(name, body) for name, body in re.findall(r"^struct (\w+)_args \{\n(.*?)^\};", text, re.M | re.S)]
    for kernel in kernels:
        kernel.groups = groups_of(text, kernel.name)
        keeps = re.search(rf"^// {kernel.name}: (?:counts|moves) kept rows of each (\d+)", text, re.M)
        kernel.segment = int(keeps[1]) if keeps else None
    return kernels


MAIN = """
extern "C" void launch_{name}(const void *args, unsigned blocks, unsigned threads, unsigned long long seed) {{
    host_launch<{name}_args>({name}, *(const {name}_args *)args, blocks, threads, seed);
}}
"""


def without_repeats(text):
    """Two stages may have equal kernels, which have one name."""
    seen, parts = set(), re.split(r"(?m)^(?=// sb_kernel_\w+: )", text)
    for part in parts[1:]:
        name = part.split(":")[0]
        parts[0] += "" if name in seen else part
        seen.add(name)
    return parts[0]


def has_shuffles(text):
    return "sb_of_warp<" in text or "sb_of_parts<" in text


def launches_of(text):
    return BLOCK_LAUNCHES if "sb_of_parts<" in text else WARP_LAUNCHES if has_shuffles(text) else LAUNCHES


def compile_host(text, folder, lost=0):
    source, text = folder / "kernels.cc", without_repeats(text)
    kernels = kernels_of(text)
    source.write_text('#include "tests/cuda/host.h"\n' + text + "".join(MAIN.format(name=k.name) for k in kernels))
    done = run(CLANG, "-x", "c++", "-std=c++17", "-O1", "-fPIC", "-shared", "-nostdlib++", "-march=x86-64-v3",
               "-ffp-contract=off", "-fsanitize=alignment,undefined", "-fno-sanitize=float-cast-overflow,float-divide-by-zero",
               "-fsanitize-trap=all", "-fno-builtin-new", "-w", f"-DHOST_BARRIERS={int('SB_SHARED' in text or has_shuffles(text))}",
               f"-DHOST_LOST={lost}", f"-I{ROOT}", source, "-o", folder / "kernels.so", "-lstdc++")
    if done.returncode:
        raise Wrong("the kernels do not compile for the host:\n" + done.stderr[:3000])
    return ctypes.CDLL(str(folder / "kernels.so")), kernels


GUARD = 64  # Bytes before and after a column that nothing may touch.


class Column:
    """Bytes of one column between two guards, at a multiple of 256 as cuMemAlloc gives."""

    def __init__(self, size, fill):
        self.size = size
        self.memory = ctypes.create_string_buffer(b"\xa5" * (size + 2 * GUARD + 512))
        base = ctypes.addressof(self.memory)
        self.at = (base + GUARD + 255) // 256 * 256
        ctypes.memset(self.at, fill, size)

    def put(self, data):
        ctypes.memmove(self.at, data, len(data))

    def bytes(self):
        return ctypes.string_at(self.at, self.size)

    def check(self, name):
        before, after = ctypes.string_at(self.at - GUARD, GUARD), ctypes.string_at(self.at + self.size, GUARD)
        if before + after != b"\xa5" * (2 * GUARD):
            raise Wrong(f"{name}: bytes outside of the column were written")


def packed(kind, values):
    if kind == "bf16":
        values = [bf16_bits(value) for value in values]
    return struct.pack(f"<{len(values)}{FORMATS[kind]}", *values)


class Keepers:
    """What kernels that bring kept rows together work on, and give."""

    def __init__(self, rows, segment):
        self.rows, self.segment = rows, segment
        self.given = {}  # By field: (bytes of a row, column).
        self.moved = {}  # The fields, in the order of the kernel.
        self.kept, self.counts, self.columns = Column(4, 0), Column(4 * (rows // segment + 1), 0), Column(0, 0)

    def run(self, library, kernel, status, some, launch, seed):
        fields = [(column, field.endswith("n")) for field, _, column, _ in kernel.fields]
        if fields:
            self.moved = dict.fromkeys(fields)
            self.columns = Column(sum((self.given[field][1].size + 255) // 256 * 256 for field in fields), 0x5a)
        words = struct.pack(f"<q{5 + len(fields)}Q", self.rows, status.at, some.at, self.kept.at, self.counts.at, self.columns.at,
                            *(self.given[field][1].at for field in fields))
        getattr(library, "launch_" + kernel.name)(ctypes.create_string_buffer(words), *launch, ctypes.c_ulonglong(seed))

    def check(self, status):
        """Rows of status 0 have moved, in their order, and nothing else; nothing at all where all rows are such."""
        kept = [i for i, byte in enumerate(status) if not byte] if any(status) else []
        counts = [sum(i // self.segment == k for i in kept) for k in range(self.counts.size // 4)]
        if self.kept.bytes() != struct.pack("<I", len(kept)) or self.counts.bytes() != struct.pack(f"<{len(counts)}I", *counts):
            raise Wrong(f"{len(kept)} rows are kept, by segment {counts}: kernels count {self.kept.bytes()}, {self.counts.bytes()}")
        wanted = b""
        for field in self.moved:
            size, from_bytes = self.given[field][0], self.given[field][1].bytes()
            wanted += b"".join(from_bytes[i * size:(i + 1) * size] for i in kept)
            wanted = wanted.ljust((len(wanted) + 255) // 256 * 256, b"\x5a")
        if self.columns.bytes() != wanted.ljust(self.columns.size, b"\x5a"):
            raise Wrong(f"other bytes than of the {len(kept)} rows that are kept of {len(status)}")
        for column in (self.kept, self.counts, self.columns):
            column.check("kept rows")


def run_kernels(library, kernels, columns, rows, params, launch, seed):
    """(status of each row, by column the values of each row)"""
    by_name = {name: (kind, shape) for name, kind, shape, _ in columns}
    status, some, results, temps = Column(len(rows), 0), Column(1, 0), {}, {}
    keepers = Keepers(len(rows), kernels[-1].segment) if kernels[-1].segment else None
    for kernel in kernels:
        if kernel.segment:
            keepers.run(library, kernel, status, some, launch, seed)
            continue
        held, words = [], [struct.pack("<q", len(rows)), struct.pack("<QQ", status.at, some.at)]
        if kernel.groups:
            table = Column(8 * kernel.groups.numbers(), 0)
            words.append(struct.pack("<Q", table.at))
        for field, kind, column, is_input in kernel.fields:
            if column is None:
                words.append(packed(kind, [params[field]]).ljust(8, b"\0"))
                continue
            if is_input and column in temps:
                words.append(struct.pack("<Q", temps[column].at))
                continue
            per_row = OUT_SHAPES.get((column, kernel.name), 1) if not is_input else elements(by_name[column][1])
            data = Column(len(rows) * BITS[kind] // 8 * per_row, 0x5a)
            if is_input and field.endswith("n"):
                data.put(packed("u8", [row[column] is not None for row in rows]))
            elif is_input:
                data.put(packed(kind, [x for row in rows for x in flat(0 if row[column] is None else row[column])]))
            held.append((field, kind, column, is_input, per_row, data))
            words.append(struct.pack("<Q", data.at))
        args = ctypes.create_string_buffer(b"".join(words))
        getattr(library, "launch_" + kernel.name)(args, *launch, ctypes.c_ulonglong(seed))
        if kernel.groups:
            table.check(f"{kernel.name}.groups")
            results = kernel.groups.read(struct.unpack(f"<{kernel.groups.numbers()}Q", table.bytes()))
        for field, kind, column, is_input, per_row, data in held:
            data.check(f"{kernel.name}.{field} ({column})")
            if is_input:
                continue
            if column.startswith("("):
                temps[column] = data
                continue
            if keepers:
                keepers.given[column, field.endswith("n")] = BITS[kind] // 8 * per_row, data
            values = struct.unpack(f"<{len(rows) * per_row}{FORMATS[kind]}", data.bytes())
            if kind == "bf16":
                values = [of_bf16(bits) for bits in values]
            if not field.endswith("n"):
                KINDS[column] = kind
            split = [list(values[i * per_row:(i + 1) * per_row]) for i in range(len(rows))]
            if field.endswith("n"):
                results[column] = [v if ok[0] else None for v, ok in zip(results[column], split)]
            else:
                results[column] = split
    status.check("status")
    some.check("some")
    if any(status.bytes()) != any(some.bytes()):
        raise Wrong("the byte for all rows does not say what those of rows say")
    if keepers:
        keepers.check(status.bytes())
    return status.bytes(), results


KINDS = {}  # By column: the type of its values.
OUT_SHAPES = {}  # By column and kernel: elements of a row.


def find_shapes(text):
    OUT_SHAPES.clear()
    for name, count in re.findall(r"^// (\w+): (\d+) elements of a row", text, re.M):
        for kernel in kernels_of(text):
            if kernel.name == name:
                for _, _, column, is_input in kernel.fields:
                    if not is_input:
                        OUT_SHAPES[column, name] = int(count)
    for name, output, count in re.findall(r"^// (\w+)\.(y\d+): (\d+) elements of a row", text, re.M):
        for kernel in kernels_of(text):
            for field, _, column, _ in kernel.fields:
                if (kernel.name, field) == (name, output):
                    OUT_SHAPES[column, name] = int(count)
