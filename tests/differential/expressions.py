"""expressions.py: random well-typed expressions over the columns of a flow, with the library's calls."""
import os
import re

import kinds
import lambdas

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PATTERNS = ("r\"[a-z]+\"", "r\"(\\w)(\\d*)\"", "r\"^a\"", "r\"x|y\"", "r\"\\s+\"", "r\"(?i)ABC\"", "r\"[^0-9]\"",
            "r\"a*\"", "r\"(é|ß)\"", "r\".\"", "r\"b?$\"", "r\"(a+)+$\"", "r\"\\bw\"",
            "r\"[a-z0-9]+|[^a-z0-9 ]\"", "r\"\\w+|[^\\w\\s]\"", "r\"[a-m]+|[n-z]+|[^a-z]+\"")
ZONES = ("\"UTC\"", "\"Europe/Berlin\"", "\"America/New_York\"", "\"Asia/Kolkata\"")
UNITS = {"date_unit": ("year", "quarter", "month", "week"),
         "time_unit": ("year", "quarter", "month", "week", "day", "hour", "minute", "second")}
FORMATS = ("%Y-%m-%d", "%d/%m/%y", "%F", "%Y %j", "%b %d %Y")
CLOCKS = ("%H:%M:%S", "%T.%f", "%R", "%-I:%M %p", "%H:%M:%S.%3f")
NUMBER_FORMATS = (".2f", "+08,.1f", "x", "05", "e", ".0%", "10", "bad")
# Their integers say how much is made: kept small.
GROWING = ("repeat", "pad", "pad_left", "pad_right", "sequence")
LAMBDAS_MAX = 3  # In each other.
CALL = re.compile(r"^(fn|agg) (\w+)\((.*)\) -> (.+?) = \w+$")
DOMAIN = re.compile(r"^    domain (\w+) ")


class Call:
    def __init__(self, name, params, result):
        self.name, self.params, self.result = name, params, result
        self.judged = set()  # Numbers of the arguments whose constants the compiler judges.


def kind_of(text):
    """The kind a declaration says, and whether it may be null."""
    nullable = text.endswith("?")
    text = text.rstrip("?")
    if text.startswith("["):
        return ("list", kind_of(text[1:-1])[0], False), nullable
    if text.startswith("{str: "):
        return ("map", kind_of(text[6:-1])[0], False), nullable
    if text.startswith("{"):
        return ("struct", tuple((name, kind_of(of)[0], False) for name, of in params_of(text[1:-1]))), nullable
    return text, nullable


def params_of(text):
    """Names and types of `a: T, b: {str: T}`."""
    parts, depth, begin = [], 0, 0
    for i, c in enumerate(text + ","):
        depth += (c in "[{") - (c in "]}")
        if c == "," and not depth:
            parts.append(text[begin:i].strip().split(": ", 1))
            begin = i + 1
    return parts if text else []


def load_calls():
    calls = {"fn": [], "agg": []}
    with open(os.path.join(ROOT, "stdlib", "functions.decl"), encoding="utf-8") as file:
        for line in file:
            found, domain = CALL.match(line.rstrip("\n")), DOMAIN.match(line)
            if domain:
                call.judged.add(names.index(domain.group(1)))
            if not found:
                continue
            what, name, params, result = found.groups()
            names, params = zip(*params_of(params)) if params else ((), ())
            call = Call(name, params, kind_of(result))
            if name != "hold":  # It takes the time that it is given, and changes nothing.
                calls[what].append(call)
    return calls


CALLS = load_calls()


def bind(kind, wanted):
    """The type T stands for if `kind` is to be `wanted`; "" if it needs none, None if it cannot be."""
    if kind == "T":
        return None if kinds.is_tensor(wanted) else wanted
    if kind == "decimal":
        return wanted if kinds.is_scalar(wanted) and wanted.startswith("decimal") else None
    if kinds.is_scalar(kind) or kinds.is_scalar(wanted) or kind[0] != wanted[0]:
        return "" if kind == wanted else None
    if kind[0] == "struct":
        same = [(n, q) for n, _, q in kind[1]] == [(n, q) for n, _, q in wanted[1]]
        found = [bind(a[1], b[1]) for a, b in zip(kind[1], wanted[1])] if same else [None]
        return None if None in found else max(found, key=str)
    if kind[1] == "T":
        return wanted[1] if not wanted[2] else None
    return bind(kind[1], wanted[1]) if kind[2] == wanted[2] else None


def with_variable(kind, t):
    """The kind of a list or map in which T stands for `t`."""
    if kinds.is_scalar(kind):
        return t if kind == "T" else kind
    if kind[0] == "struct":
        return ("struct", tuple((n, with_variable(k, t), q) for n, k, q in kind[1]))
    return (kind[0], with_variable(kind[1], t), kind[2])


class Expressions(lambdas.Lambdas):
    """Makes expressions over `columns`: (name, kind, may be null)."""

    def __init__(self, random, columns, params=(), functions=(), places=False, made=()):
        self.random, self.columns = random, list(columns)
        self.params, self.functions = params, functions
        self.places = places  # source(), line() and offset() mean something.
        self.made = made  # Names of columns of the same step, whose constants the compiler knows.
        self.level = 0  # Lambdas around.

    def chance(self, share):
        return self.random.random() < share

    def pick(self, items):
        return self.random.choice(items)

    def of(self, kind, depth=3):
        """An expression of `kind` that is never null."""
        if depth <= 0:
            return self.leaf(kind)
        ways = [self.leaf, self.branch, self.handled, self.call]
        if kinds.is_named(kind):
            ways = [self.leaf, self.branch] + [self.named] * 4
        if kinds.is_tensor(kind):
            ways += [self.elements] * 5 + [self.moved] * 4
        if kinds.is_scalar(kind):
            ways += self.scalar_ways(kind)
            ways += [self.reduced] * 2 if self.tensors(lambda k: True) else []
            ways += [self.measured] * 3 if self.measures(kind) else []
        elif kind[0] == "list" and kind[1] == "str" and not kind[2]:
            ways.append(lambda k, d: f"split({self.of('str', d)}, {kinds.quote(self.pick(' ,a'))})")
        if not kinds.is_scalar(kind) and kind[0] == "list" and self.level < LAMBDAS_MAX:
            ways += [self.mapped] * 2 + [self.filtered, self.sorted]
        if kind[0] == "struct":
            ways += [self.spread] * 2
        way = self.pick(ways)
        return way(kind, depth - 1) if way != self.leaf else self.leaf(kind)

    def nullable(self, kind, depth=3):
        """An expression of `kind` that may be null."""
        found = [name for name, k, q in self.columns if k == kind and q]
        if found and self.chance(0.6):
            return self.pick(found)
        if kinds.is_scalar(kind) and kind != "json" and self.chance(0.5):
            return f"null_if({self.of(kind, depth - 1)}, {self.of(kind, depth - 1)})"
        return f"(if {self.of('bool', depth - 1)} then {self.of(kind, depth - 1)} else null)"

    def leaf(self, kind):
        found = [(n, q) for n, k, q in self.columns if k == kind]
        found += [(n, False) for n, k in self.params if k == kind]
        if found and self.chance(0.8):
            name, nullable = self.pick(found)
            return f"({name} ?? {kinds.beside(self.random, kind)})" if nullable else name
        inner = self.field(kind) or self.element(kind)
        if inner and self.chance(0.5):
            return inner
        return kinds.literal(self.random, kind)

    def spread(self, kind, depth):
        """A column of the kind, with some fields replaced by others of their types."""
        found = [n for n, k, q in self.columns if k == kind and not q]
        fields = [(n, k) for n, k, q in kind[1] if not q and not kinds.holds_tensor(k)]
        if not found:
            return self.leaf(kind)
        items = [f"{n}: {self.of(k, depth)}" for n, k in fields if self.chance(0.5)]
        return f"{{ {', '.join([f'...{self.pick(found)}', *items])} }}"

    def field(self, kind):
        """A part of a struct column."""
        found = [f"{n}.{f}" for n, k, q in self.columns if not kinds.is_scalar(k) and k[0] == "struct" and not q
                 for f, inner, null in k[1] if inner == kind and not null]
        return self.pick(found) if found else None

    # ---- tensors of open dimensions ------------------------------------------------------------

    def open_tensors(self, fits):
        return [(n, k) for n, k, q in self.columns if kinds.is_named(k) and not q and fits(k)]

    def named(self, kind, depth):
        """A tensor of that element and number of dimensions, made of columns by operators and functions."""
        elem, rank = kind[1], len(kind[2])
        found = [n for n, _ in self.open_tensors(lambda k: k[1] == elem and len(k[2]) == rank)]
        others = [n for n, _ in self.open_tensors(lambda k: k[1] == elem and len(k[2]) != rank)]
        if not found and not others:
            return self.leaf(kind)
        if not found or others and self.chance(0.3):
            other, part = self.pick(others), self.pick((1, 2, 3))
            return self.pick((f"reshape({other}, {', '.join(['-1', *['1'] * (rank - 1)])})",
                              f"reshape({other}, {', '.join(['1'] * (rank - 1) + [f'size({other})'])})",
                              f"reshape({other}, {', '.join(['-1', *[str(part)] * (rank - 1)])})"))
        x, y, one = self.pick(found), self.pick(found), kinds.literal(self.random, elem)
        axis = self.random.randrange(rank)
        ways = [f"choose({x} > {y}, {x}, {one})", f"concat({x}, {y}, {axis})", f"pad({x}, 1, {axis}, {one}, {axis})",
                f"gather({x}, [0, 0, {self.pick((0, 0, 1))}], {axis})", f"slice({x}, {self.pick((0, 0, 1))}, {self.pick((1, 1, 2))}, {axis})",
                f"(if {self.of('bool', depth)} then {x} else {y})", f"choose(slice({x}, 0, 1, {axis}) == {y}, {y}, {x})"]
        if elem in kinds.FLOATS:
            ways += [f"({x} {self.pick('+-*/')} {y})", f"({x} - mean({y}))", f"softmax({x}, {axis})", f"({x} * {one} + {y})",
                     f"normalise({x}, {one}, {kinds.literal(self.random, elem)})"]
        elif elem == "i64":
            ways += [f"({x} {self.pick(('+', '-', '*', '//', '%'))} {y})"] * 3
        if rank == 2:
            ways += [f"transpose({x})", f"transpose({x}) + {elem}({y})" if elem in kinds.FLOATS else f"transpose({y})"]
        return self.pick(ways)

    def measures(self, kind):
        """Columns that `measured` makes a number of that kind of."""
        return self.open_tensors(lambda k: k[1] == kind or kind == "i64" or kind == "bool")

    def measured(self, kind, depth):
        """A size of a tensor of open dimensions, or what a reduction makes of one."""
        found = self.measures(kind)
        x, of = self.pick(found)
        same = [n for n, k in found if k[1] == of[1] and len(k[2]) == len(of[2])]
        y, axis, places = self.pick(same), self.random.randrange(len(of[2])), ", ".join("0" for _ in of[2])
        if kind == "bool":
            return self.pick((f"any({x} > {y})", f"all({x} == {x})", f"(size({x}) > size({y}, 0))"))
        ways = [f"max({x})", f"min({x} - {y})" if of[1] in kinds.FLOATS else f"min({x})", f"{x}{''.join('[0]' for _ in of[2])}"]
        if kind == "i64":
            ways = [f"size({x})", f"size({x}, {axis})", f"argmax({x})", f"argmin(flatten({x}))"]
            ways += [f"sum({x})", f"sum(sum({x}, {axis}))"] if of[1] in ("i64", "i32") else []
        if kind in kinds.FLOATS and of[1] == kind:
            ways += [f"sum({x})", f"mean({x})", f"sum(softmax({x}))", f"sum({x} * {y})", f"prod({x})", f"max(mean({x}, {axis}))" if len(of[2]) > 1 else f"dot({x}, {y})"]
        return self.pick(ways)

    # ---- tensors -------------------------------------------------------------------------------

    def tensors(self, fits):
        return [(n, k) for n, k, q in self.columns if kinds.is_tensor(k) and not q and fits(k)]

    def element(self, kind):
        """An element of a tensor column, now and then one that is not there."""
        found = self.tensors(lambda k: k[1] == kind)
        if not found:
            return None
        name, (_, _, shape) = self.pick(found)
        places = [self.random.randrange(n) for n in shape]
        if self.chance(0.1):
            return name + "".join(f"[greatest({p}, {self.of('i64', 1)})]" for p in places)
        return name + "".join(f"[{p}]" for p in places)

    def elements(self, kind, depth):
        """Operators that make a tensor of that element and shape of columns."""
        _, elem, shape = kind
        found = [n for n, _ in self.tensors(lambda k: k == kind)]
        others = self.tensors(lambda k: k[2] == shape and k[1] != "bool")
        if elem == "bool":
            if not others:
                return self.leaf(kind)
            name, (_, of, _) = self.pick(others)
            op = self.pick(("==", "!=", "<", "<=", ">", ">="))
            return f"({name} {op} {self.operand(of, shape, depth)})"
        if others and (not found or self.chance(0.3)):
            return f"{elem}({self.pick(others)[0]})"
        if not found:
            return self.leaf(kind)
        left = self.pick(found)
        for _ in range(self.random.randint(1, 4)):
            op = self.pick(("+", "-", "*", "/", "%") if elem in kinds.FLOATS else ("+", "-", "*", "//", "%"))
            right = self.operand(elem, shape, depth)
            # What is always zero is an error of the program where it is a number.
            if op in ("//", "%", "/") and right not in found and not right.startswith("["):
                right = self.divisor(elem, depth)
            left = f"({left} {op} {right})" if self.chance(0.9) or right.startswith("[") else f"({right} {op} {left})"
        if elem in kinds.FLOATS and self.chance(0.3):
            return f"{elem}(sqrt({left}))" if elem != "f64" else f"{self.pick(('sqrt', 'floor', 'exp'))}({left})"
        return f"(-{left})" if self.chance(0.1) and elem[0] != "u" else left

    def any_tensor(self, fits, depth):
        """A tensor that fits, of a column or made of one, with its element and shape; or None."""
        found = self.tensors(fits)
        if not found:
            return None
        name, (_, elem, shape) = self.pick(found)
        for _ in range(self.random.randint(0, 2)):
            name, shape = self.rearranged(name, elem, shape, depth)
        return name, elem, shape

    def rearranged(self, x, elem, shape, depth):
        """The tensor with elements moved, dropped, repeated or added, and its shape."""
        axis = self.random.randrange(len(shape))
        size, said = shape[axis], axis - len(shape) if self.chance(0.3) else axis

        def resized(n):
            return shape[:axis] + (n,) + shape[axis + 1:]
        way = self.random.randrange(8)
        if way == 0:
            order = list(range(len(shape)))
            self.random.shuffle(order)
            return f"transpose({x}, {', '.join(map(str, order))})", tuple(shape[i] for i in order)
        if way == 1:
            return f"transpose({x})", shape[::-1]
        if way == 2:
            begin = self.random.randrange(size)
            count = self.random.randint(1, size - begin)
            return f"slice({x}, {begin}, {count}, {said})", resized(count)
        if way == 3 and len(shape) < 4:
            places = [self.random.randrange(size) for _ in range(self.random.randint(1, 4))]
            return f"gather({x}, {places}, {said})", resized(len(places))
        if way == 4 and len(shape) < 4:
            return f"stack({x}, {x})", (2,) + shape
        if way == 5 and size < 100:
            return f"concat({x}, {x}, {said})", resized(2 * size)
        if way == 6 and size < 100:
            before, after = self.random.randint(0, 2), self.random.randint(0, 40)
            return f"pad({x}, {before}, {after}, {kinds.literal(self.random, elem)}, {said})", resized(size + before + after)
        count = 1
        for n in shape:
            count *= n
        return self.pick(((f"flatten({x})", (count,)), (f"reshape({x}, 1, -1)", (1, count)),
                          (f"reshape({x}, -1, 1)", (count, 1)), (x, shape)))

    def reduced(self, kind, depth):
        """A number that a reduction makes of a tensor."""
        of = {"bool": ("bool",), "i64": ("i8", "i16", "i32", "i64"), "u64": ("u8", "u16", "u32", "u64")}.get(kind, (kind,))
        found = self.any_tensor(lambda k: k[1] in of, depth)
        if not found:
            return self.leaf(kind)
        x, elem, shape = found
        if elem != "bool" and self.chance(0.3):  # Operators in front, in the loop of the reduction or not.
            x = f"({x} {self.pick(('+', '*', '-'))} {self.of(elem, 1)})"
        if kind == "i64" and self.chance(0.3):
            return f"{self.pick(('argmin', 'argmax'))}({x})"
        names = ["min", "max"] if elem == kind else []
        if elem == "bool":
            names = ["any", "all", "min", "max"]
        elif elem in kinds.FLOATS:
            names += ["sum", "sum", "mean", "prod"]
        elif kind in ("i64", "u64"):
            names += ["sum", "sum"]
        if not names:
            return self.leaf(kind)
        name = self.pick(names)
        if elem == kind and len(shape) == 1 and elem in kinds.FLOATS and self.chance(0.2):
            return f"dot({x}, {x})"
        if len(shape) > 1 and elem == kind and self.chance(0.4):
            return f"{name}({name}({x}, {self.random.randrange(len(shape))}))"
        return f"{name}({x})"

    def moved(self, kind, depth):
        """A tensor of that element and shape of what has another shape, by functions of tensors."""
        _, elem, shape = kind
        count = 1
        for n in shape:
            count *= n
        found = self.any_tensor(lambda k: k[1] == elem, depth)
        if not found:
            return self.leaf(kind)
        x, _, own = found
        sizes = ", ".join(map(str, shape))
        whole = 1
        for n in own:
            whole *= n
        if len(own) > 1 and elem in kinds.FLOATS and self.chance(0.5):
            axis = self.random.randrange(len(own))
            x, whole = f"{self.pick(('sum', 'mean', 'max', 'prod'))}({x}, {axis})", whole // own[axis]
        if elem in kinds.FLOATS and self.chance(0.2):
            x = self.pick((f"softmax({x})", f"normalise({x}, {self.of(elem, 1)}, 2.0)"))
        x = f"flatten({x})" if len(own) > 1 or self.chance(0.5) else x
        if elem != "bool" and self.chance(0.3):
            x = f"choose({x} > {self.of(elem, 1)}, {x}, {self.of(elem, 1)})"
        if whole < count:
            x = f"pad({x}, 0, {count - whole}, {kinds.literal(self.random, elem)})"
        elif whole > count:
            x = f"slice({x}, {self.random.randint(0, whole - count)}, {count})"
        return f"reshape({x}, {sizes})"

    def operand(self, elem, shape, depth):
        """What broadcasts to the shape: a tensor, one that is written out, or a number."""
        found = [n for n, k in self.tensors(lambda k: k[1] == elem and len(k[2]) <= len(shape) and
                                            all(a in (1, b) for a, b in zip(k[2][::-1], shape[::-1])))]
        if found and self.chance(0.6):
            return self.pick(found)
        if self.chance(0.3):
            return kinds.literal(self.random, ("tensor", elem, shape[-1:]))
        return self.of(elem, depth)

    def knowing(self):
        """A column that may be null, and expressions of a place where it is not. None: there is no such column."""
        known = [n for n, _, q in self.columns if q]
        if not known or self.chance(0.6):
            return None, None
        name = self.pick(known)
        columns = [(n, k, q and n != name) for n, k, q in self.columns]
        inner = type(self)(self.random, columns, self.params, self.functions, self.places, self.made)
        inner.level = self.level
        return name, inner

    def narrowed(self, kind, depth, name, inner):
        """A branch in which the column is not null."""
        here, there = inner.of(kind, depth), self.of(kind, depth)
        return self.pick((f"(if {name} != null then {here} else {there})",
                          f"(if {name} == null then {there} else {here})",
                          f"(case {{ {name} == null => {there}, {inner.of('bool', depth)} => {here},"
                          f" _ => {inner.of(kind, depth)} }})",
                          f"(case {{ {name} != null => {here}, _ => {there} }})"))

    def branch(self, kind, depth):
        name, inner = self.knowing()
        if name:
            return self.narrowed(kind, depth, name, inner)
        if self.chance(0.3):
            arms = ", ".join(f"{self.of('bool', depth)} => {self.of(kind, depth)}"
                             for _ in range(self.random.randint(1, 3)))
            return f"(case {{ {arms}, _ => {self.of(kind, depth)} }})"
        return f"(if {self.of('bool', depth)} then {self.of(kind, depth)} else {self.of(kind, depth)})"

    def handled(self, kind, depth):
        roll = self.random.random()
        if roll < 0.2:
            return f"({self.of(kind, depth)} else reject)"
        if roll < 0.22:
            return f"({self.of(kind, depth)} else fail)"
        if roll < 0.35:
            return f"(({self.of(kind, depth)} else null) ?? {self.of(kind, depth)})"
        if roll < 0.4:
            return f"({self.nullable(kind, depth)} ?? reject)"
        if roll < 0.5:
            return f"({self.nullable(kind, depth)} ?? {self.of(kind, depth)})"
        return f"({self.of(kind, depth)} else {self.of(kind, depth)})"

    # ---- calls ---------------------------------------------------------------------------------

    def call(self, kind, depth):
        if self.functions and self.chance(0.2):
            fits = [f for f in self.functions if f[2] == kind]
            if fits:
                name, params, _ = self.pick(fits)
                return f"{name}({', '.join(self.of(p, depth) for p in params)})"
        found = [(call, t) for call in CALLS["fn"] if (t := bind(call.result[0], kind)) is not None]
        if not found:
            return self.leaf(kind)
        call, t = self.pick(found)
        t = t or self.free_type(call)
        args = [self.argument(call, i, t, depth) for i in range(len(call.params))]
        if None in args:
            return self.leaf(kind)
        text = f"{call.name}({', '.join(args)})"
        if call.result[0] == "decimal":  # Of 38 digits, whatever its argument has.
            precision, scale = kinds.digits_of(kind)
            text = f"decimal({text}, {precision}, {scale})"
        return f"({text} ?? {self.leaf(kind)})" if call.result[1] else text

    def free_type(self, call):
        """What T stands for where the result does not say it."""
        params = [kind_of(param)[0] for param in call.params]
        if any(not kinds.is_scalar(p) and p[1] == "T" for p in params):
            return self.pick(("i64", "str", "f64"))
        return kinds.scalar(self.random) if "T" in params else ""

    def argument(self, call, i, t, depth):
        """Argument `i`; None if there is none of its type."""
        param = call.params[i]
        if param == "regex":
            return self.pick(PATTERNS)
        if param == "zone":
            if self.chance(0.6):
                return self.pick(ZONES)
            other = self.pick((*ZONES, "\"Mars/Olympus\""))  # Which rejects its rows.
            return f"(if {self.of('bool', depth)} then {self.pick(ZONES)} else {other})"
        if param == "const f64":
            return self.pick(("0.0", "0.5", "1.0", "0.25", "0.9"))
        if param == "const duration":
            return self.pick(("1h", "90s", "1d", "7us"))
        if param == "const str":
            return None  # The name of a group, which few patterns have.
        if param in ("read_clock", "write_clock"):
            return f"\"{self.pick(CLOCKS)}\""
        if param in ("read_form", "write_form", *UNITS):
            return f"\"{self.pick(UNITS.get(param, FORMATS))}\""
        kind, nullable = kind_of(param)
        if call.name == "format" and i == 1:
            return f"trim(\"{self.pick(NUMBER_FORMATS)}\")"
        if kind == "i64" and call.name in GROWING:
            return str(self.random.randint(0, 12))
        if i in call.judged:
            return self.divisor(kind, depth) if kind == "i64" else self.unchecked(kind, depth)
        if kind in ("T", "decimal"):
            kind = t or self.pick(kinds.DECIMALS)
        elif not kinds.is_scalar(kind):
            kind = with_variable(kind, t)
        if call.name == "clamp" and kind in (*kinds.INTEGERS, *kinds.FLOATS) and kind not in ("i64", "f64"):
            return None  # Its forms for i64 and f64 take narrower numbers too.
        if call.name in ("null_if", "greatest", "least", "hash") and (not kinds.is_scalar(kind) or kind == "json"):
            return None
        return self.nullable(kind, depth) if nullable else self.of(kind, depth)

    # ---- scalars -------------------------------------------------------------------------------

    def scalar_ways(self, kind):
        if kind == "bool":
            ways = [self.compare, self.compare, self.logic, self.null_test, self.among]
            lists = self.level < LAMBDAS_MAX and (self.lists() or self.chance(0.1))
            return ways + [self.quantified] if lists else ways
        ways = [self.cast]
        if kind in kinds.INTEGERS or kind in kinds.FLOATS:
            ways += [self.arithmetic] * 3
        elif kind.startswith("decimal"):
            ways.append(self.decimals)
        elif kind == "str":
            ways += [self.join_text, self.fstring]
        elif kind == "duration":
            ways += [lambda k, d: f"({self.of('timestamp', d)} - {self.of('timestamp', d)})",
                     lambda k, d: f"({self.of(k, d)} {self.pick(('+', '-'))} {self.of(k, d)})",
                     lambda k, d: f"({self.of(k, d)} * {self.of('i64', d)})",
                     lambda k, d: f"({self.of(k, d)} // {self.divisor('i64', d)})"]
        elif kind == "date":
            ways.append(self.months)
        elif kind.startswith("timestamp"):
            ways.append(self.months)
            ways.append(lambda k, d: f"({self.of(k, d)} {self.pick(('+', '-'))} {self.of('duration', d)})")
        if self.level < LAMBDAS_MAX and kind != "json" and self.lists():
            ways.append(self.folded)
        if self.places and kind in ("str", "i64"):
            ways.append(lambda k, d: "source()" if k == "str" else self.pick(("line()", "offset()")))
        return ways

    def months(self, kind, depth):
        """A number of months of the calendar, written out or computed."""
        unit = self.pick(("1mo", "3mo", "1y", "17mo", "(1y - 2mo)"))
        count = unit if self.chance(0.5) else f"{self.of(self.pick(('i64', 'i8')), depth)} * {unit}"
        return f"({self.of(kind, depth)} {self.pick(('+', '-'))} {count})"

    def arithmetic(self, kind, depth):
        if kind == "f64" and self.chance(0.3):
            other = self.pick(("i64", "i32", "u8", "decimal(15,2)", "f64"))
            return f"({self.fixed(other, depth)} / {self.divisor(other, depth)})"
        if kind in kinds.FLOATS:
            op = self.pick(("+", "-", "*", "/", "%"))
        else:
            op = self.pick(("+", "-", "*", "//", "%"))
        if self.chance(0.1) and (kind in kinds.FLOATS or kind.startswith("i")):
            return f"(-{self.of(kind, depth)})"
        right = self.divisor(kind, depth) if op in ("//", "%", "/") else self.of(kind, depth)
        return f"({self.of(kind, depth)} {op} {right})"

    def fixed(self, kind, depth):
        """An expression whose numbers do not take another type from their place."""
        text = self.of(kind, depth)
        return text if text in (name for name, _, _ in self.columns) else f"least({text}, {text})"

    def divisor(self, kind, depth):
        """What is always zero is an error of the program: no constant, as far as the compiler sees."""
        text = self.of(kind, depth)
        plain = text in (name for name, _, _ in self.columns) and text not in self.made
        return text if plain else f"greatest({text}, {text})"

    def decimals(self, kind, depth):
        precision, scale = kinds.digits_of(kind)
        op = self.pick(("+", "-", "*"))
        left, right = self.pick(kinds.DECIMALS), self.pick(kinds.DECIMALS)
        if op == "*" and kinds.digits_of(left)[1] + kinds.digits_of(right)[1] > 38:
            op = "+"
        return f"decimal({self.of(left, depth)} {op} {self.of(right, depth)}, {precision}, {scale})"

    def join_text(self, kind, depth):
        return f"({self.of(kind, depth)} + {self.of(kind, depth)})"

    def fstring(self, kind, depth):
        found = [n for n, k, q in self.columns if not q and kinds.is_scalar(k) and k not in ("json", "bytes")]
        return f"f\"<{{{self.pick(found)}}}>\"" if found else self.leaf(kind)

    def cast(self, kind, depth):
        if kind.startswith("decimal"):
            source = self.pick(("i64", "f64", "str", *kinds.DECIMALS, "i8"))
            precision, scale = kinds.digits_of(kind)
            return f"decimal({self.fixed(source, depth)}, {precision}, {scale})"
        if kind.startswith("timestamp"):
            name = "timestamp" if kind == "timestamp" else f"timestamp_{kind[10:-1]}"
            return f"{name}({self.unchecked(self.pick(('date', 'str', *kinds.TIMESTAMPS)), depth)})"
        sources = {"str": ("i64", "f64", "f32", "f16", "bf16", "bool", "date", "timestamp", "duration", "decimal(15,2)", "u8"),
                   "date": ("str", "timestamp", "timestamp[s]"), "duration": ("str", "i64"),
                   "bytes": ("str",), "json": ("str",)}
        source = self.pick(sources.get(kind, (*kinds.INTEGERS, *kinds.FLOATS, "str", "decimal(15,2)")))
        if self.chance(0.2):
            return f"({kind}({self.nullable(source, depth)}) ?? {kinds.literal(self.random, kind)})"
        return f"{kind}({self.unchecked(source, depth)})"

    def unchecked(self, kind, depth):
        """Not a text as such: the compiler reads dates and times in those."""
        return f"trim({self.of(kind, depth)})" if kind == "str" else self.fixed(kind, depth)

    # ---- predicates ----------------------------------------------------------------------------

    def comparable(self):
        found = [k for _, k, _ in self.columns if kinds.is_scalar(k) and k != "json"]
        return self.pick(found) if found and self.chance(0.8) else kinds.scalar(self.random)

    def side(self, kind, depth):
        return self.nullable(kind, depth) if self.chance(0.25) else self.of(kind, depth)

    def compare(self, _, depth):
        kind = self.comparable()
        op = self.pick(("==", "!=", "<", "<=", ">", ">="))
        return f"({self.side(kind, depth)} {op} {self.side(kind, depth)})"

    def logic(self, kind, depth):
        if self.chance(0.25):
            return f"(not {self.of(kind, depth)})"
        name, inner = self.knowing()
        if name:
            here = inner.of(kind, depth)
            return self.pick((f"({name} != null and {here})", f"({name} == null or {here})",
                              f"(not (not ({name} != null) or {here}))"))
        return f"({self.of(kind, depth)} {self.pick(('and', 'or'))} {self.of(kind, depth)})"

    def null_test(self, kind, depth):
        found = [n for n, _, q in self.columns if q]
        return f"({self.pick(found)} {self.pick(('==', '!='))} null)" if found else self.compare(kind, depth)

    def among(self, _, depth):
        kind = self.comparable()
        if self.chance(0.5) and kind != "bool":
            return f"({self.side(kind, depth)} in {self.of(kind, 0)}..{self.of(kind, 0)})"
        items = ", ".join(self.of(kind, 0) for _ in range(self.random.randint(1, 4)))
        return f"({self.side(kind, depth)} in [{items}])"
