# The Python side of Python functions: what the interpreter of the user runs for a job.
#
# The job sends small messages over a socket (descriptor 3). Values go through shared memory: the
# arguments in descriptor 4, results in descriptor 5. runtime/python/wire.h has the layout.
import array
import ctypes
import datetime
import decimal
import difflib
import importlib
import importlib.machinery
import inspect
import itertools
import math
import mmap
import operator
import os
import socket
import struct
import sys
import traceback

ARGS, RESULTS = 4, 5
LOAD, CALL = 1, 2
DONE, FAILED, MISFIT = 0, 1, 2
WORDS_MAX = 900
FRAMES_MAX = 8
OFFSET_MAX = (1 << 31) - 1

UTC = datetime.timezone.utc
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=UTC)
EPOCH_DAY = datetime.date(1970, 1, 1).toordinal()
MICROSECOND = datetime.timedelta(microseconds=1)

pyarrow = None  # Set where a batch function is loaded and the interpreter has it.


class Misfit(Exception):
    """A result that does not fit the type of the function."""


# ---- types -------------------------------------------------------------------------------------

CODES = {"c": "b", "s": "h", "i": "i", "l": "q", "C": "B", "S": "H", "I": "I", "L": "Q",
         "f": "f", "g": "d", "tdD": "i", "tDu": "q"}
NAMES = {"b": "bool", "c": "i8", "s": "i16", "i": "i32", "l": "i64", "C": "u8", "S": "u16",
         "I": "u32", "L": "u64", "f": "f32", "g": "f64", "u": "str", "z": "bytes",
         "tdD": "date", "tDu": "duration"}
UNITS = {"s": 1, "m": 1_000, "u": 1_000_000, "n": 1_000_000_000}


class Type:
    def __init__(self, format, name, shape, children):
        self.format, self.name, self.shape, self.children = format, name, shape, children
        self.open = any(isinstance(size, str) for size in shape)  # Then children are data and shape.
        self.elements = 0 if self.open else math.prod(shape)  # Of each tensor.
        self.extension = bool(shape)  # Has the array the type of an extension?
        if self.open:
            children[1].extension = False
        self.code = "q" if format.startswith("ts") else CODES.get(format)
        self.size = struct.calcsize(self.code) if self.code else 16
        self.precision = self.scale = 0
        if format.startswith("d:"):
            self.precision, self.scale = map(int, format[2:].split(","))
        self.kind = ("fixed" if self.code else "decimal" if self.precision else
                     "shaped" if self.open else "tensor" if shape else
                     {"b": "bits", "u": "text", "z": "text", "+l": "list", "+m": "list"}.get(format, "struct"))
        self.convert = converter(self)

    @property
    def element(self):
        return self.children[0].children[0] if self.open else self.children[0]

    def like(self, shape):
        """Do tensors of these sizes fit?"""
        return len(shape) == len(self.shape) and all(
            isinstance(own, str) or own == size for own, size in zip(self.shape, shape))

    def say(self, names=True):
        if self.kind == "decimal":
            return "decimal(%d, %d)" % (self.precision, self.scale)
        if self.format.startswith("ts"):
            return "timestamp[%s]" % {"s": "s", "m": "ms", "u": "us", "n": "ns"}[self.format[2]]
        if self.format == "+m":
            return "{str: %s}" % self.children[0].children[1].say(names)
        if self.kind == "list":
            return "[%s]" % self.children[0].say(names)
        if self.shape:
            sizes = (size if names or not self.open else "_" for size in self.shape)
            return "%s[%s]" % (self.element.say(names), ", ".join(map(str, sizes)))
        if self.kind == "struct":
            return "{%s}" % ", ".join("%s: %s" % (c.name, c.say(names)) for c in self.children)
        return NAMES[self.format]


def read_type(fields):
    name, format = next(fields), next(fields)
    shape = tuple(int(size) if size.isdigit() else size for size in next(fields).split())
    count = int(next(fields))
    return Type(format, name, shape, [read_type(fields) for _ in range(count)])


# ---- values of Python, as they stand in arrays ---------------------------------------------------

def refuse(type, value):
    text = repr(value)
    text = text if len(text) <= 60 else text[:57] + "..."
    raise Misfit("%s (%s) is no %s" % (text, value.__class__.__name__, type.say()))


def whole(type):
    bits = 8 * type.size
    signed = type.code.islower()
    least = -(1 << (bits - 1)) if signed else 0
    most = (1 << (bits - signed)) - 1

    def convert(value):
        if isinstance(value, bool):
            refuse(type, value)
        try:
            number = operator.index(value)
        except TypeError:
            refuse(type, value)
        if not least <= number <= most:
            refuse(type, value)
        return number
    return convert


def floating(type):
    def convert(value):
        if isinstance(value, bool) or not hasattr(value.__class__, "__float__"):
            refuse(type, value)
        try:
            number = float(value)
            if type.code == "f":
                struct.pack("f", number)
            return number
        except (TypeError, OverflowError):
            refuse(type, value)
    return convert


def boolean(type):
    def convert(value):
        if value is True or value is False:
            return value
        if getattr(getattr(value, "dtype", None), "kind", "") != "b":
            refuse(type, value)
        return bool(value)
    return convert


def text(type):
    def convert(value):
        if not isinstance(value, str):
            refuse(type, value)
        try:
            return value.encode()
        except UnicodeEncodeError:
            refuse(type, value)
    return convert


def binary(type):
    def convert(value):
        if not isinstance(value, (bytes, bytearray, memoryview)):
            refuse(type, value)
        return bytes(value)
    return convert


def day(type):
    def convert(value):
        if not isinstance(value, datetime.date) or isinstance(value, datetime.datetime):
            refuse(type, value)
        return value.toordinal() - EPOCH_DAY
    return convert


# Without a time zone nobody knows which moment it is.
def moment(type):
    per_second = UNITS[type.format[2]]
    exact = whole(type)

    def convert(value):
        if per_second == UNITS["n"] and not isinstance(value, datetime.datetime):
            return exact(value)
        if not isinstance(value, datetime.datetime) or value.tzinfo is None:
            refuse(type, value)
        micros = (value - EPOCH) // MICROSECOND
        if per_second == UNITS["n"]:
            return exact(micros * 1000)
        number, rest = divmod(micros, 1_000_000 // per_second)
        if rest:
            refuse(type, value)
        return number
    return convert


def span(type):
    exact = whole(type)

    def convert(value):
        if not isinstance(value, datetime.timedelta):
            refuse(type, value)
        return exact(value // MICROSECOND)
    return convert


def exact_number(type):
    end = 10 ** type.precision

    def convert(value):
        if isinstance(value, bool) or not isinstance(value, (int, decimal.Decimal)):
            refuse(type, value)
        sign, digits, exponent = decimal.Decimal(value).as_tuple()
        if not isinstance(exponent, int) or exponent + type.scale > 2 * type.precision:
            refuse(type, value)
        number = int("".join(map(str, digits)))
        exponent += type.scale
        if exponent >= 0:
            number *= 10 ** exponent
        elif number:
            number, rest = divmod(number, 10 ** min(-exponent, len(digits) + 1))
            if rest:
                refuse(type, value)
        if number >= end:
            refuse(type, value)
        return -number if sign else number
    return convert


def convert_inside(type, value):
    return None if value is None else type.convert(value)


def sequence(type):
    elem = type.children[0]

    def convert(value):
        if isinstance(value, (str, bytes, dict)) or not hasattr(value, "__iter__"):
            refuse(type, value)
        return [convert_inside(elem, each) for each in value]
    return convert


# The sizes of lists in lists: the first list of each depth says how long the others are.
def first_sizes(value, depth):
    sizes = []
    for _ in range(depth):
        if isinstance(value, (str, bytes, dict)) or not hasattr(value, "__len__") or not len(value):
            raise ValueError
        sizes.append(len(value))
        value = value[0]
    return sizes


# The elements of lists in lists, or of an array with the buffer protocol, in the order of the
# shape; of open dimensions a pair of these and the sizes.
def tensor(type):
    elem = type.element

    def flat(value, sizes):
        if not sizes:
            return [elem.convert(value)]
        if isinstance(value, (str, bytes, dict)) or not hasattr(value, "__iter__"):
            raise ValueError
        parts = list(value)
        if len(parts) != sizes[0]:
            raise ValueError
        return list(itertools.chain.from_iterable(flat(part, sizes[1:]) for part in parts))

    def convert(value):
        shape = getattr(value, "shape", type.shape)
        if hasattr(value, "tolist") and (shape is type.shape or type.like(shape)):
            value = value.tolist()
        try:
            if not type.open:
                return flat(value, type.shape)
            if isinstance(value, dict) and value.keys() == {"data", "shape"}:
                sizes, elements = list(value["shape"]), list(value["data"])
                if not type.like(sizes) or math.prod(sizes) != len(elements) or not elements:
                    raise ValueError
                return [elem.convert(each) for each in elements], sizes
            sizes = first_sizes(value, len(type.shape))
            if not type.like(sizes):
                raise ValueError
            return flat(value, sizes), sizes
        except ValueError:
            refuse(type, value)
    return convert


# A dict, or pairs of keys and values, to entries.
def mapping(type):
    key, value = type.children[0].children

    def convert(given):
        if isinstance(given, dict):
            given = given.items()
        elif isinstance(given, (str, bytes)) or not hasattr(given, "__iter__"):
            refuse(type, given)
        try:
            pairs = [(k, v) for k, v in given]
        except (TypeError, ValueError):
            refuse(type, given)
        return [[key.convert(k), convert_inside(value, v)] for k, v in pairs]
    return convert


# A dict, or an object with such attributes.
def record(type):
    def convert(value):
        if isinstance(value, dict):
            names = {child.name for child in type.children}
            if value.keys() != names:
                refuse(type, value)
            return [convert_inside(child, value[child.name]) for child in type.children]
        try:
            return [convert_inside(child, getattr(value, child.name)) for child in type.children]
        except AttributeError:
            refuse(type, value)
    return convert


def converter(type):
    if type.format.startswith("ts"):
        return moment(type)
    if type.kind == "decimal":
        return exact_number(type)
    if type.shape:
        return tensor(type)
    special = {"b": boolean, "f": floating, "g": floating, "u": text, "z": binary, "tdD": day,
               "tDu": span, "+l": sequence, "+s": record, "+m": mapping}
    return special.get(type.format, whole)(type)


def to_moment(per_second):
    if per_second == UNITS["n"]:
        return None
    scale = 1_000_000 // per_second
    return lambda number: EPOCH + datetime.timedelta(microseconds=number * scale)


# What a number in an array is as a value of Python. None: the number itself.
def reader(type):
    if type.format.startswith("ts"):
        return to_moment(UNITS[type.format[2]])
    if type.format == "tdD":
        return lambda number: datetime.date.fromordinal(number + EPOCH_DAY)
    if type.format == "tDu":
        return lambda number: datetime.timedelta(microseconds=number)
    return None


# ---- columns -----------------------------------------------------------------------------------

def get_bit(bits, i):
    return bits[i >> 3] >> (i & 7) & 1


def pack_bits(flags):
    out = bytearray((len(flags) + 7) // 8)
    for i, flag in enumerate(flags):
        if flag:
            out[i >> 3] |= 1 << (i & 7)
    return out


class Column:
    """An Arrow array without pyarrow: len(), [i], iteration, to_pylist().

    `format` is the format of the Arrow C Data Interface. `buffers` are memoryviews as the Arrow
    columnar format has them: validity (None: no nulls) and what follows. `values` is a memoryview
    of numbers where the type is one of fixed width. Of tensors of numbers it has their dimensions
    after that of the rows. `children` are columns. Libraries that know
    the Arrow PyCapsule interface take a column as it is (__arrow_c_array__)."""

    def __init__(self, type, length, null_count, buffers, children=()):
        self.type, self.length, self.null_count = type, length, null_count
        self.buffers, self.children = buffers, children

    @property
    def format(self):
        return self.type.format

    @property
    def values(self):
        if self.type.kind == "tensor" and self.length:
            elements, shape = self.children[0], (self.length, *self.type.shape)
            if elements.type.kind == "bits":
                flags = bytes(base_values(elements, 0, elements.length))
                return memoryview(flags).cast("?", shape=shape)
            return elements.values.cast("B").cast(elements.type.code, shape=shape)
        if self.type.kind != "fixed":
            raise TypeError("values of %s have no fixed width" % self.type.say())
        return self.buffers[1][:self.length * self.type.size].cast(self.type.code)

    def __len__(self):
        return self.length

    def __iter__(self):
        return iter(self.to_pylist())

    def __getitem__(self, i):
        return self.to_pylist()[i] if isinstance(i, slice) else self.part(operator.index(i))

    def part(self, i):
        i = i + self.length if i < 0 else i
        if not 0 <= i < self.length:
            raise IndexError("the column has %d values" % self.length)
        return plain_values(self, i, 1)[0]

    def to_pylist(self):
        return plain_values(self, 0, self.length)

    tolist = to_pylist

    def __arrow_c_schema__(self):
        return export_schema(self.type)

    def __arrow_c_array__(self, requested_schema=None):
        return export_schema(self.type), export_array(self)


def nested(items, shape):
    for size in reversed(shape):
        items = [items[at:at + size] for at in range(0, len(items), size)]
    return items


def base_values(column, first, count):
    type, kind = column.type, column.type.kind
    if kind == "fixed":
        numbers = column.buffers[1][first * type.size:(first + count) * type.size]
        return numbers.cast(type.code).tolist()
    if kind == "bits":
        bits = column.buffers[1]
        return [bool(bits[i >> 3] >> (i & 7) & 1) for i in range(first, first + count)]
    if kind == "decimal":
        at = column.buffers[1]
        numbers = (int.from_bytes(at[16 * i:16 * i + 16], "little", signed=True)
                   for i in range(first, first + count))
        return [decimal.Decimal("%dE-%d" % (number, type.scale)) for number in numbers]
    if kind == "struct":
        names = [child.name for child in type.children]
        if not names:
            return [{} for _ in range(count)]
        fields = [plain_values(child, first, count) for child in column.children]
        return [dict(zip(names, row)) for row in zip(*fields)]
    if kind == "tensor":
        each = type.elements
        return nested(plain_values(column.children[0], first * each, count * each), type.shape)
    if kind == "shaped":
        pairs = zip(*(plain_values(child, first, count) for child in column.children))
        return [nested(items, sizes)[0] if items else None for items, sizes in pairs]
    offsets = column.buffers[1][4 * first:4 * (first + count + 1)].cast("i").tolist()
    ends = zip(offsets, offsets[1:])
    base = offsets[0]
    if kind == "list":
        items = plain_values(column.children[0], base, offsets[-1] - base)
        lists = [items[a - base:b - base] for a, b in ends]
        if type.format == "+m":
            return [{entry["key"]: entry["value"] for entry in each} for each in lists]
        return lists
    data = bytes(column.buffers[2][base:offsets[-1]])
    if type.format == "z":
        return [data[a - base:b - base] for a, b in ends]
    whole_text = data.decode()
    if len(whole_text) == len(data):  # ASCII: characters are bytes.
        return [whole_text[a - base:b - base] for a, b in ends]
    return [data[a - base:b - base].decode() for a, b in ends]


def plain_values(column, first, count):
    values = base_values(column, first, count)
    read, bits = reader(column.type), column.buffers[0]
    if bits is not None:
        there = [get_bit(bits, i) for i in range(first, first + count)]
        return [(read(v) if read else v) if is_there else None
                for v, is_there in zip(values, there)]
    return [read(v) for v in values] if read else values


# `values` are converted already, or None.
def column_of(type, values):
    count, nulls, valid = len(values), values.count(None), None
    if nulls:
        valid = memoryview(pack_bits([value is not None for value in values]))
    kind = type.kind
    if kind == "struct":
        empty = [None] * len(type.children)
        rows = [empty if value is None else value for value in values]
        children = [column_of(child, [row[i] for row in rows])
                    for i, child in enumerate(type.children)]
        return Column(type, count, nulls, [valid], children)
    if kind == "tensor":
        empty = [0] * type.elements
        items = [empty if value is None else value for value in values]
        elements = column_of(type.children[0], list(itertools.chain.from_iterable(items)))
        return Column(type, count, nulls, [valid], [elements])
    if kind == "shaped":
        empty = ([], [0] * len(type.shape))
        pairs = [empty if value is None else value for value in values]
        children = [column_of(child, [pair[i] for pair in pairs])
                    for i, child in enumerate(type.children)]
        return Column(type, count, nulls, [valid], children)
    if kind in ("text", "list"):
        empty = b"" if kind == "text" else []
        filled = [empty if value is None else value for value in values] if nulls else values
        ends = list(itertools.accumulate(map(len, filled), initial=0))
        if ends[-1] > OFFSET_MAX:
            raise Misfit("the texts or lists of a batch are longer than 2 GiB")
        offsets = memoryview(array.array("i", ends)).cast("B")
        if kind == "text":
            return Column(type, count, nulls, [valid, offsets, memoryview(b"".join(filled))])
        items = column_of(type.children[0], list(itertools.chain.from_iterable(filled)))
        return Column(type, count, nulls, [valid, offsets], [items])
    filled = [0 if value is None else value for value in values] if nulls else values
    if kind == "bits":
        data = memoryview(pack_bits(filled))
    elif kind == "decimal":
        data = memoryview(b"".join(v.to_bytes(16, "little", signed=True) for v in filled))
    else:
        data = memoryview(array.array(type.code, filled)).cast("B")
    return Column(type, count, nulls, [valid, data])


PLAIN = {"b": bool, "f": float, "g": float, "u": str}


# Values of Python to a column. What does not fit is noted by its row, and null.
def column_from(type, values, misfits, errors):
    classes = set(map(type_of, values))
    convert = type.convert
    if type.code in ("q", "i") and not type.format.startswith("t") and classes == {int}:
        try:
            return Column(type, len(values), 0,
                          [None, memoryview(array.array(type.code, values)).cast("B")])
        except OverflowError:
            pass
    if type.format in ("g", "b") and classes == {PLAIN[type.format]}:
        return column_of(type, values)
    made = []
    for i, value in enumerate(values):
        if hasattr(value, "as_py"):  # A scalar of pyarrow; datetime has no nanoseconds.
            value = value.value if type.format.startswith("tsn") else value.as_py()
        if value is not None and i not in errors:
            if isinstance(value, BaseException):
                errors[i] = describe(value)
                value = None
            else:
                try:
                    value = convert(value)
                except Misfit as misfit:
                    misfits[i] = str(misfit)
                    value = None
                except Exception as error:  # A value with strange methods.
                    misfits[i] = describe(error)
                    value = None
        made.append(value)
    return column_of(type, made)


type_of = type


# ---- Arrow C Data Interface ----------------------------------------------------------------------

class CSchema(ctypes.Structure):
    pass


class CArray(ctypes.Structure):
    pass


RELEASE_SCHEMA = ctypes.CFUNCTYPE(None, ctypes.POINTER(CSchema))
RELEASE_ARRAY = ctypes.CFUNCTYPE(None, ctypes.POINTER(CArray))
CSchema._fields_ = [
    ("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_void_p),
    ("flags", ctypes.c_int64), ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(CSchema))), ("dictionary", ctypes.c_void_p),
    ("release", ctypes.c_void_p), ("private_data", ctypes.c_void_p)]
CArray._fields_ = [
    ("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64), ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(CArray))), ("dictionary", ctypes.c_void_p),
    ("release", ctypes.c_void_p), ("private_data", ctypes.c_void_p)]

exported = {}  # What exported structs point to, by address of the struct, until it is released.

new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = ctypes.py_object
new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
capsule_pointer.restype = ctypes.c_void_p
capsule_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]


# A consumer may move a struct: the key stands in private_data.
def release_any(pointer):
    exported.pop(pointer.contents.private_data, None)
    pointer.contents.release = None


release_schema = RELEASE_SCHEMA(release_any)
release_array = RELEASE_ARRAY(release_any)


def export(made, release, keep):
    key = ctypes.addressof(made)
    made.private_data = key
    made.release = ctypes.cast(release, ctypes.c_void_p)
    exported[key] = (made, keep)
    return made


def pointers(kind, children):
    cells = (ctypes.POINTER(kind) * max(len(children), 1))()
    for i, child in enumerate(children):
        cells[i] = ctypes.pointer(child)
    return cells


def tensor_metadata(type):
    sizes = ",".join("null" if isinstance(size, str) else str(size) for size in type.shape)
    name = b"arrow.variable_shape_tensor" if type.open else b"arrow.fixed_shape_tensor"
    about = ('{"uniform_shape":[%s]}' if type.open else '{"shape":[%s]}') % sizes
    words = (b"ARROW:extension:name", name, b"ARROW:extension:metadata", about.encode())
    return struct.pack("=i", 2) + b"".join(struct.pack("=i", len(word)) + word for word in words)


# Entries of a map and their keys are never null.
def schema_struct(type, flags=2):
    children = [schema_struct(child) for child in type.children]
    if type.format == "+m":
        children = [schema_struct(type.children[0], 0)]
        children[0].children[0].contents.flags = 0
    cells = pointers(CSchema, children)
    metadata = ctypes.create_string_buffer(tensor_metadata(type)) if type.extension else None
    made = CSchema(format=type.format.encode(), name=type.name.encode(), flags=flags,
                   metadata=metadata and ctypes.addressof(metadata),
                   n_children=len(children), children=cells)
    return export(made, release_schema, (cells, children, metadata))


def address_of(view):
    if view is None:
        return None, None
    try:
        there = (ctypes.c_char * max(len(view), 1)).from_buffer(view)
    except (TypeError, ValueError):  # It cannot be written to, or is empty.
        there = ctypes.create_string_buffer(bytes(view), len(view) + 1)
    return ctypes.addressof(there), there


def array_struct(column):
    children = [array_struct(child) for child in column.children]
    cells = pointers(CArray, children)
    places = [address_of(view) for view in column.buffers]
    buffers = (ctypes.c_void_p * len(places))(*[address for address, _ in places])
    made = CArray(length=column.length, null_count=column.null_count, offset=0,
                  n_buffers=len(places), n_children=len(children), buffers=buffers, children=cells)
    return export(made, release_array, (cells, children, buffers, places, column))


def export_schema(type):
    return new_capsule(ctypes.addressof(schema_struct(type)), b"arrow_schema", None)


def export_array(column):
    return new_capsule(ctypes.addressof(array_struct(column)), b"arrow_array", None)


def bytes_at(address, count):
    if not address or not count:
        return memoryview(b"")
    return memoryview((ctypes.c_char * count).from_address(address)).cast("B")


# The bits from `first` on, as bytes of their own.
def shifted_bits(bits, first, count):
    whole_bytes, shift = divmod(first, 8)
    part = bits[whole_bytes:(first + count + 7) // 8]
    if not shift:
        return part
    number = int.from_bytes(part, "little") >> shift
    return memoryview(number.to_bytes((count + 7) // 8 + 1, "little"))[:(count + 7) // 8]


# A column of values first ... first + count - 1 of buffers that may begin elsewhere. `buffer(i, n)`
# gives the first n bytes of buffer i, or None.
def cut_column(type, first, count, null_count, buffer, child):
    valid = None
    if null_count != 0 and buffer(0, 1) is not None:
        valid = shifted_bits(buffer(0, (first + count + 7) // 8), first, count)
    if type.kind == "bits":
        data = shifted_bits(buffer(1, (first + count + 7) // 8), first, count)
        return Column(type, count, null_count, [valid, data])
    if type.kind in ("fixed", "decimal"):
        data = buffer(1, (first + count) * type.size)[first * type.size:]
        return Column(type, count, null_count, [valid, data])
    if type.kind in ("struct", "shaped"):
        children = [child(i, first, count) for i in range(len(type.children))]
        return Column(type, count, null_count, [valid], children)
    if type.kind == "tensor":
        elements = child(0, first * type.elements, count * type.elements)
        return Column(type, count, null_count, [valid], [elements])
    offsets = buffer(1, 4 * (first + count + 1))[4 * first:]
    ends = offsets.cast("i") if count else array.array("i", [0])
    base, end = ends[0], ends[count]
    if base:
        offsets = memoryview(array.array("i", [each - base for each in ends])).cast("B")
    if type.kind == "text":
        return Column(type, count, null_count, [valid, offsets, buffer(2, end)[base:]])
    return Column(type, count, null_count, [valid, offsets], [child(0, base, end - base)])


def import_column(type, at, first, count):
    if at.n_children != len(type.children):
        raise Misfit("the array has %d children, its type %d" % (at.n_children,
                                                                 len(type.children)))

    def buffer(i, size):
        if i >= at.n_buffers or not at.buffers[i]:
            return None if i == 0 else memoryview(bytes(size))
        return bytes_at(at.buffers[i], size)

    def child(i, child_first, child_count):
        there = at.children[i].contents
        if there.length < child_first + child_count:
            raise Misfit("a child of the array has %d values of %d"
                         % (there.length, child_first + child_count))
        return import_column(type.children[i], there, child_first, child_count)
    return cut_column(type, first + at.offset, count, at.null_count, buffer, child)


def check_schema(type, schema):
    format = (schema.format or b"").decode()
    fits = format == type.format or format.startswith("ts") and format[:4] == type.format[:4]
    if not fits or schema.n_children != len(type.children) or schema.dictionary:
        raise Misfit("an array of the Arrow format '%s' is no array of %s" % (format, type.say()))
    for i, child in enumerate(type.children):
        check_schema(child, schema.children[i].contents)


# What an object with __arrow_c_array__ gives; also what releases it when it was copied.
def from_capsules(type, value, cleanups):
    schema_capsule, array_capsule = value.__arrow_c_array__()
    schema = CSchema.from_address(capsule_pointer(schema_capsule, b"arrow_schema"))
    there = CArray.from_address(capsule_pointer(array_capsule, b"arrow_array"))

    def release():
        if schema.release:
            RELEASE_SCHEMA(schema.release)(ctypes.pointer(schema))
        if there.release:
            RELEASE_ARRAY(there.release)(ctypes.pointer(there))
        del schema_capsule_kept[:]
    schema_capsule_kept = [schema_capsule, array_capsule, value]
    cleanups.append(release)
    check_schema(type, schema)
    return import_column(type, there, 0, there.length)


# ---- pyarrow -------------------------------------------------------------------------------------

def pyarrow_type(type):
    pa = pyarrow
    if type.kind == "decimal":
        return pa.decimal128(type.precision, type.scale)
    if type.format == "+m":
        return pa.map_(pa.string(), pyarrow_type(type.children[0].children[1]))
    if type.kind == "list":
        return pa.list_(pyarrow_type(type.children[0]))
    if type.kind == "tensor":
        return pa.list_(pyarrow_type(type.children[0]), type.elements)
    if type.kind in ("struct", "shaped"):
        return pa.struct([(child.name, pyarrow_type(child)) for child in type.children])
    if type.format.startswith("ts"):
        return pa.timestamp({"s": "s", "m": "ms", "u": "us", "n": "ns"}[type.format[2]], "UTC")
    plain = {"b": pa.bool_, "c": pa.int8, "s": pa.int16, "i": pa.int32, "l": pa.int64,
             "C": pa.uint8, "S": pa.uint16, "I": pa.uint32, "L": pa.uint64, "f": pa.float32,
             "g": pa.float64, "u": pa.string, "z": pa.binary, "tdD": pa.date32,
             "tDu": lambda: pa.duration("us")}
    return plain[type.format]()


def to_pyarrow(column):
    shaped = extension_type(column.type) if column.type.extension else None
    made = storage_of(column)
    return pyarrow.ExtensionArray.from_storage(shaped, made) if shaped else made


# As it is without extensions, which arrays inside of others are.
def storage_of(column):
    buffers = [None if view is None else pyarrow.py_buffer(view) for view in column.buffers]
    children = [storage_of(child) for child in column.children]
    return pyarrow.Array.from_buffers(column.type.pyarrow, column.length, buffers,
                                        column.null_count, 0, children or None)


# Of tensors. None: this pyarrow has none for them.
def extension_type(type):
    if type.kind == "tensor":
        known = hasattr(pyarrow, "fixed_shape_tensor")
        return pyarrow.fixed_shape_tensor(type.element.pyarrow, type.shape) if known else None
    made = pyarrow.DataType._import_from_c(ctypes.addressof(schema_struct(type)))
    return made if isinstance(made, pyarrow.BaseExtensionType) else None


# May one become the other by a cast that loses nothing? A number is no text.
def alike(have, want):
    is_ = pyarrow.types
    if is_.is_dictionary(have):
        have = have.value_type
    if is_.is_null(have):
        return True
    tests = [is_.is_integer, is_.is_floating, is_.is_boolean, is_.is_decimal, is_.is_date,
             is_.is_timestamp, is_.is_duration,
             lambda t: is_.is_string(t) or is_.is_large_string(t) or named(t, "string_view"),
             lambda t: is_.is_binary(t) or is_.is_large_binary(t) or named(t, "binary_view")
             or is_.is_fixed_size_binary(t) and not is_.is_decimal(t)]
    for test in tests:
        if test(want):
            return test(have)
    if is_.is_map(want):
        return (is_.is_map(have) and alike(have.key_type, want.key_type)
                and alike(have.item_type, want.item_type))
    if is_.is_fixed_size_list(want):
        return (is_.is_fixed_size_list(have) and have.list_size == want.list_size
                and alike(have.value_type, want.value_type))
    if is_.is_list(want):
        some = is_.is_list(have) or is_.is_large_list(have) or is_.is_fixed_size_list(have)
        return some and alike(have.value_type, want.value_type)
    if not is_.is_struct(want) or not is_.is_struct(have) or have.num_fields != want.num_fields:
        return False
    return all(have.field(i).name == want.field(i).name
               and alike(have.field(i).type, want.field(i).type) for i in range(want.num_fields))


def named(type, name):
    return str(type) == name


# Where some values do not fit, the rows that they stand in are noted, and null.
def cast_rows(type, value, misfits):
    parts = []
    for i in range(len(value)):
        try:
            parts.append(value.slice(i, 1).cast(type.pyarrow))
        except pyarrow.ArrowInvalid as error:
            misfits[i] = "an array of %s is no array of %s: %s" % (value.type, type.say(), error)
            parts.append(pyarrow.nulls(1, type.pyarrow))
    return pyarrow.concat_arrays(parts)


# An array of tensors says their shape, and may have its dimensions in another order: then its
# elements are moved.
def shaped_tensor(type, value):
    shape = getattr(value.type, "shape", None)
    order = getattr(value.type, "permutation", None)
    moved_unseen = shape is None and "permutation" in str(value.type)  # Of variable shapes.
    if shape is None and not moved_unseen:
        return None
    order = list(order) if order else list(range(len(shape or ())))
    if moved_unseen or not type.like([shape[i] for i in order]):
        raise Misfit("an array of %s is no array of %s" % (value.type, type.say()))
    if type.open and value.null_count:
        if order != sorted(order):
            raise Misfit("an array of %s is no array of %s" % (value.type, type.say()))
        return column_of(type, [items and type.convert({"data": items, "shape": list(shape)})
                                for items in value.storage.to_pylist()])
    moved = type.open or order != sorted(order) and not value.null_count
    return from_buffer(type, value.to_numpy_ndarray()) if moved else None


def from_pyarrow(type, value, cleanups, misfits):
    if isinstance(value, pyarrow.ChunkedArray):
        chunks = value.chunks
        value = (chunks[0] if len(chunks) == 1 else pyarrow.concat_arrays(chunks) if chunks
                 else pyarrow.array([], type.pyarrow))
    if isinstance(value, pyarrow.ExtensionArray):
        if type.shape:
            column = shaped_tensor(type, value)
            if column:
                return column
        value = value.storage
    if not value.type.equals(type.pyarrow):
        if not alike(value.type, type.pyarrow):
            raise Misfit("an array of %s is no array of %s" % (value.type, type.say()))
        try:
            value = value.cast(type.pyarrow)
        except pyarrow.ArrowInvalid:
            value = cast_rows(type, value, misfits)
    if type.children:
        schema, there = CSchema(), CArray()
        value._export_to_c(ctypes.addressof(there), ctypes.addressof(schema))

        def release():
            RELEASE_SCHEMA(schema.release)(ctypes.pointer(schema))
            RELEASE_ARRAY(there.release)(ctypes.pointer(there))
        cleanups.append(release)
        return import_column(type, there, 0, there.length)
    buffers = value.buffers()

    def buffer(i, size):
        if buffers[i] is None:
            return None if i == 0 else memoryview(bytes(size))
        return memoryview(buffers[i])[:size]
    return cut_column(type, value.offset, len(value), value.null_count, buffer, None)


# ---- results of batch functions ------------------------------------------------------------------

def number_class(code):
    return "f" if code in "efd" else "b" if code == "?" else "i" if code in "bhilqn" else "u"


# An array of all rows: its first dimension counts them.
def from_tensor(type, view):
    count, sizes = view.shape[0], view.shape[1:]
    if not type.like(sizes) or not view.nbytes:
        return None
    data = view if view.c_contiguous else memoryview(view.tobytes()).cast(view.format)
    flat = data.cast("B").cast(view.format.lstrip("@=<"))
    elements = from_buffer(type.element, flat)
    if not elements or not type.open:
        return elements and Column(type, count, 0, [None], [elements])
    each = math.prod(sizes)
    if each * count > OFFSET_MAX:
        raise Misfit("the tensors of a batch have more than 2 Gi elements")
    offsets = memoryview(array.array("i", range(0, each * count + 1, each))).cast("B")
    lists = Column(type.children[0], count, 0, [None, offsets], [elements])
    return Column(type, count, 0, [None], [lists, column_of(type.children[1], [sizes] * count)])


# An object with the buffer protocol, as array.array and arrays of numpy. None: it is none, or of
# other numbers.
def from_buffer(type, value):
    try:
        view = memoryview(value)
    except (TypeError, ValueError, BufferError):
        return None
    code = view.format.lstrip("@=<")
    if type.shape:
        return from_tensor(type, view)
    if view.ndim != 1 or len(code) != 1 or code not in "efd?bhilqnBHILQN":
        return None
    if type.kind == "bits" and code == "?":
        return column_of(type, view.tolist())
    plain = type.kind == "fixed" and not type.format.startswith("t")
    if not plain or number_class(code) != number_class(type.code) or view.itemsize != type.size:
        return None
    data = view.cast("B") if view.c_contiguous else memoryview(view.tobytes())
    return Column(type, len(view), 0, [None, data])


def listed(type, value):
    for name in ("to_pylist", "tolist", "to_list"):
        if hasattr(value, name):
            value = getattr(value, name)()
            break
    if isinstance(value, (str, bytes, bytearray, dict)) or not hasattr(value, "__iter__"):
        raise Misfit("it gave %s, and no array of %s" % (value.__class__.__name__, type.say()))
    return list(value)


def result_column(type, value, count, notes):
    cleanups, misfits, errors = notes
    column = None
    if isinstance(value, Column):
        if value.type.format != type.format or value.type.say(False) != type.say(False):
            raise Misfit("a column of %s is no column of %s" % (value.type.say(), type.say()))
        column = value
    elif pyarrow and isinstance(value, (pyarrow.Array, pyarrow.ChunkedArray)):
        column = from_pyarrow(type, value, cleanups, misfits)
    elif hasattr(value, "__arrow_c_array__"):
        column = from_capsules(type, value, cleanups)
    else:
        column = from_buffer(type, value)
    if column is None:
        values = listed(type, value)
        if len(values) != count:
            raise Misfit("it gave %d values for %d rows" % (len(values), count))
        column = column_from(type, values, misfits, errors)
    if column.length != count:
        raise Misfit("it gave %d values for %d rows" % (column.length, count))
    return column


# ---- functions -----------------------------------------------------------------------------------

folders = []


def short_path(path):
    for folder in folders:
        if path.startswith(folder + "/"):
            return path[len(folder) + 1:]
    return path


# An exception in one line: what it says, and the lines that it came through, the last one last.
def describe(error):
    try:
        head = " ".join(traceback.format_exception_only(error.__class__, error)[-1].split())
    except Exception:
        head = error.__class__.__name__
    frames = ["%s:%d in %s" % (short_path(frame.f_code.co_filename), line, frame.f_code.co_name)
              for frame, line in traceback.walk_tb(error.__traceback__)
              if not frame.f_code.co_filename.startswith("<sbc>")
              and "importlib" not in frame.f_code.co_filename]
    if isinstance(error, SyntaxError) and error.filename:
        frames.append("%s:%s" % (short_path(error.filename), error.lineno))
    if len(frames) > FRAMES_MAX:
        frames = ["..."] + frames[-FRAMES_MAX:]
    return "%s (%s)" % (head, ", ".join(frames)) if frames else head


def utf8(words):
    data = words.encode("utf-8", "backslashreplace").replace(b"\0", b" ")
    return data if len(data) <= WORDS_MAX else data[:WORDS_MAX].decode("utf-8", "ignore").encode()


class Refusal(Exception):
    """Why a function cannot be loaded: a letter of wire.h, and words."""

    def __init__(self, letter, words):
        super().__init__(words)
        self.letter, self.words = letter, words


def import_module(folder, module):
    if folder not in folders:
        folders.append(folder)
    if folder in sys.path:
        sys.path.remove(folder)
    sys.path.insert(0, folder)
    importlib.invalidate_caches()
    try:
        made = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name and (module + ".").startswith(error.name + "."):
            raise Refusal("M", "there is no module '%s'; looked in %s, then where the interpreter "
                          "looks" % (error.name, folder))
        raise Refusal("E", "module '%s' cannot be imported: %s" % (module, describe(error)))
    except BaseException as error:
        raise Refusal("E", "module '%s' cannot be imported: %s" % (module, describe(error)))
    top = sys.modules.get(module.split(".")[0])
    spec = importlib.machinery.PathFinder.find_spec(module.split(".")[0], [folder])
    there = getattr(top, "__file__", None)
    if spec and spec.origin and there and os.path.realpath(spec.origin) != os.path.realpath(there):
        raise Refusal("M", "module '%s' is that of %s already, and %s is another" %
                      (module, there, spec.origin))
    return made


def find(module, made, name):
    for part in name.split("."):
        if not hasattr(made, part):
            near = difflib.get_close_matches(part, dir(made), 1)
            raise Refusal("F", "module '%s' has no '%s'%s" %
                          (module, name, "; did you mean '%s'?" % near[0] if near else ""))
        made = getattr(made, part)
    if not callable(made):
        raise Refusal("F", "'%s' of module '%s' is no function" % (name, module))
    return made


def check_signature(name, callee, count):
    try:
        signature = inspect.signature(callee)
    except (TypeError, ValueError):  # A function in C that does not say.
        return
    try:
        signature.bind(*[None] * count)
    except TypeError:
        raise Refusal("S", "'%s' is %s%s, and the program gives it %d argument%s" %
                      (name, name.split(".")[-1], signature, count, "" if count == 1 else "s"))
    target = callee if inspect.isroutine(callee) else getattr(callee, "__call__", callee)
    if inspect.iscoroutinefunction(target) or inspect.isgeneratorfunction(target):
        raise Refusal("S", "'%s' is a coroutine or a generator, and no plain function" % name)


class Function:
    def __init__(self, fields):
        global pyarrow
        folder, callee, words = next(fields), next(fields), next(fields)
        count = int(next(fields))
        self.by_rows = "r" in words
        self.params = [read_type(fields) for _ in range(count)]
        self.result = read_type(fields)
        module, name = callee.split(":")
        self.callee = find(module, import_module(folder, module), name)
        if "s" in words:
            try:
                self.callee = self.callee()
            except BaseException as error:
                raise Refusal("E", "'%s' cannot be made: %s" % (name, describe(error)))
            if not callable(self.callee):
                raise Refusal("F", "what '%s' makes cannot be called" % name)
        # A batch without parameters gets the number of rows.
        check_signature(name, self.callee, count if count or self.by_rows else 1)
        if not self.by_rows and pyarrow is None:
            try:
                import pyarrow as found
                pyarrow = found
            except ImportError:
                pyarrow = False
        if not self.by_rows and pyarrow:
            for type in self.params + [self.result]:
                set_pyarrow(type)

    def close(self):
        end = getattr(self.callee, "close", None)
        if callable(end):
            end()


def set_pyarrow(type):
    type.pyarrow = pyarrow_type(type)
    for child in type.children:
        set_pyarrow(child)


# Which row is called stands in the first word of the results. The job reads it there if the process
# does not come back.
def row_word(results):
    if not results.size:
        os.ftruncate(RESULTS, 1 << 20)
        results.map(1 << 20)
    return results.view[:8].cast("q")


# The arguments of each row. None stands for those that are made row by row, as Python has no value
# for some of them: it knows no date before the year 1.
def args_of_rows(columns, count):
    if not columns:
        return itertools.repeat((), count)
    try:
        return zip(*[column.to_pylist() for column in columns])
    except (ValueError, OverflowError):
        return itertools.repeat(None, count)


def args_of_row(columns, i, errors):
    try:
        return [column[i] for column in columns]
    except (ValueError, OverflowError) as error:
        errors[i] = "Python has no value for an argument: " + describe(error)
        return None


def call_rows(function, columns, count, notes, results):
    callee, out, errors = function.callee, [None] * count, notes[2]
    row = row_word(results)
    for i, args in enumerate(args_of_rows(columns, count)):
        row[0] = i
        if args is None:
            args = args_of_row(columns, i, errors)
            if args is None:
                continue
        try:
            out[i] = callee(*args)
        except BaseException as error:
            errors[i] = describe(error)
    return column_from(function.result, out, notes[1], errors)


def call_batch(function, columns, count, notes, results):
    args = [to_pyarrow(column) for column in columns] if pyarrow else columns
    if not args:
        return result_column(function.result, function.callee(count), count, notes)
    return result_column(function.result, function.callee(*args), count, notes)


# ---- shared memory -------------------------------------------------------------------------------

class Shared:
    def __init__(self, fd, access):
        self.fd, self.access, self.size, self.view = fd, access, 0, memoryview(b"")

    def map(self, size):
        if size > self.size:
            self.view = memoryview(mmap.mmap(self.fd, size, access=self.access))
            self.size = size
        return self.view


def read_column(view, words, type):
    length, nulls = next(words), next(words)
    counts = {"text": 3, "struct": 1, "tensor": 1, "shaped": 1}
    buffers = []
    for _ in range(counts.get(type.kind, 2)):
        offset, size = next(words), next(words)
        buffers.append(None if offset == 0 else view[offset:offset + size])
    children = [read_column(view, words, child) for child in type.children]
    return Column(type, length, nulls, buffers, children)


def collect(column, words, parts, at):
    nulls = 0 if column.buffers[0] is None else column.null_count
    words += [column.length, nulls]
    for view in column.buffers:
        if view is None:
            words += [0, 0]
            continue
        words += [at, view.nbytes]
        parts.append((at, view))
        at += (view.nbytes + 63) // 64 * 64 + 64
    for child in column.children:
        at = collect(child, words, parts, at)
    return at


def words_of(type):
    return 2 + 2 * 3 + sum(words_of(child) for child in type.children)


# The column and what is said of rows. Gives the bytes that are used.
def write_results(results, function, column, notes):
    said = [(row, kind, utf8(text)) for kind, texts in ((MISFIT, notes[1]), (FAILED, notes[2]))
            for row, text in texts.items()]
    begin = (8 * (1 + 4 * len(said) + words_of(function.result)) + 63) // 64 * 64
    words, parts, at = [len(said)], [], begin
    for row, kind, text in said:
        words += [row, kind, at, len(text)]
        parts.append((at, text + b"\0"))
        at += len(text) + 1
    at = collect(column, words, parts, (at + 63) // 64 * 64)
    if at > results.size:
        size = max(1 << 20, 1 << (at - 1).bit_length())
        os.ftruncate(RESULTS, size)
        results.map(size)
    view = results.view
    head = struct.pack("<%dq" % len(words), *words)
    view[:len(head)] = head
    for offset, data in parts:
        data = memoryview(data)
        size = data.nbytes
        view[offset:offset + size] = data if data.format == "B" and data.ndim == 1 \
            else data.cast("B")
    return at, results.size


# ---- the loop ------------------------------------------------------------------------------------

def answer(status, used=0, size=0, words=""):
    return struct.pack("<qqq", status, used, size) + utf8(words)


def run_call(function, rows, args, results):
    notes = cleanups, misfits, errors = [], {}, {}
    try:
        words = iter(args[:8 * (1 + sum(map(words_of, function.params)))].cast("q"))
        next(words)
        columns = [read_column(args, words, type) for type in function.params]
        call = call_rows if function.by_rows else call_batch
        try:
            column = call(function, columns, rows, notes, results)
        except Misfit as misfit:
            return answer(MISFIT, words=str(misfit))
        used, size = write_results(results, function, column, notes)
        return answer(DONE, used, size)
    except BaseException as error:
        return answer(FAILED, words=describe(error))
    finally:
        for cleanup in cleanups:
            cleanup()


def load(functions, number, payload):
    try:
        functions[number] = Function(iter(payload.decode().split("\0")))
        return b"L"
    except Refusal as refusal:
        return refusal.letter.encode() + utf8(refusal.words)


def serve():
    functions = {}
    results = Shared(RESULTS, mmap.ACCESS_WRITE)
    arguments = Shared(ARGS, mmap.ACCESS_READ)
    job = socket.socket(fileno=3)
    for fd in (3, ARGS, RESULTS):
        os.set_inheritable(fd, False)
    if "" in sys.path:
        sys.path.remove("")
    sys.stdout.reconfigure(line_buffering=True)
    job.send(b"H" + sys.version.split()[0].encode())
    while True:
        request = job.recv(64)
        if not request:
            break
        op, number, rows, size = struct.unpack("<qqqq", request)
        view = arguments.map(size)
        if op == LOAD:
            job.send(load(functions, number, bytes(view[:rows])))
        else:
            job.send(run_call(functions[number], rows, view, results))
    for function in functions.values():
        function.close()


serve()
