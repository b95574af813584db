"""pipeline.py: random well-typed programs over random tables, kept in pieces that can be dropped."""
import expressions
import folders
import kinds
import tables

KEYS_MAX = 3
GIVES = 6  # Functions of batch.c that give back what they got.
# Functions of called.py, and the words after their names: those that give back what they got, and those of numbers.
PYTHON_GIVES = {"same": "", "back": " batch", "listed": " batch", "column": " batch"}
PYTHON_NUMBERS = {"picky": "", "picky_all": " batch pure", "fussy": " batch", "wrong": "", "Added": " batch state",
                  "Counted": " state", "quits": ""}
STEPS_MAX = 7


class Flow:
    """Where a pipeline stands: `columns` are (name, kind, may be null); it has as many rows as the flow named
    `rows_of`, if any."""

    def __init__(self, columns, places=False, rows_of=None):
        self.columns, self.places, self.rows_of = list(columns), places, rows_of

    def copy(self):
        return Flow(self.columns, self.places, self.rows_of)


class Program:
    """Statements; each is a head and steps, a step a keyword, its items and what follows them.

    `files`: by name the pieces of its text; those of a name that ends in .gz are compressed. Those of a name that begins
    with `out` are there when the job comes, and the job appends to them.
    `arguments`: options of the job beside threads and partitions.
    """

    def __init__(self, statements, files, arguments):
        self.statements, self.files, self.arguments = statements, files, arguments

    def text(self):
        return "\n\n".join(statement_text(s) for s in self.statements) + "\n"


def statement_text(statement):
    return "\n| ".join([statement[0], *(step_text(step) for step in statement[1:])])


def step_text(step):
    before, items, after = step
    return before + ", ".join(items) + after


def named(name):
    return name if name.isidentifier() and name not in ("true", "false") else f"`{name}`"


def is_key(kind):
    return kinds.is_scalar(kind) and kind != "json"


class Maker:
    def __init__(self, random, sizes, gpu=False):
        self.random, self.sizes, self.gpu = random, sizes, gpu
        self.statements, self.files, self.flows, self.arguments = [], {}, {}, []
        self.params, self.functions, self.batches = [], [], []
        self.large = max(most for _, most in sizes) > 200
        self.huge = max(most for _, most in sizes) > 5000
        self.ranged = False
        self.fresh = 0

    def chance(self, share):
        return self.random.random() < share

    def pick(self, items):
        return self.random.choice(items)

    def name(self, stem):
        self.fresh += 1
        return f"{stem}{self.fresh}"

    def expressions(self, flow, made=()):
        columns = [(named(n), k, q) for n, k, q in flow.columns]
        return expressions.Expressions(self.random, columns, self.params, self.functions, flow.places,
                                       [named(n) for n in made])

    # ---- statements ----------------------------------------------------------------------------

    def program(self):
        for _ in range(self.random.randint(0, 2)):
            kind = self.pick(("i64", "f64", "str", "bool", "date"))
            name = self.name("p")
            self.statements.append([f"param {name}: {kind} = {kinds.constant(self.random, kind)}"])
            self.params.append((name, kind))
        for _ in range(self.random.randint(0, 2)):
            self.function()
        # What calls functions over batches; None: nothing does.
        self.calls = self.random.choices((None, self.c_call, self.python_call), (80, 12, 8))[0]
        for _ in range(self.random.randint(1, 2)):
            self.let(self.source())
        for _ in range(self.random.randint(0, 2)):
            self.let(None)
        for name in list(self.flows):
            self.output(name)
        if self.chance(0.3):
            self.output(self.pick(list(self.flows)))
        self.rejects()
        return Program(self.statements, self.files, self.arguments)

    def function(self):
        params = [(f"v{i}", kinds.scalar(self.random)) for i in range(self.random.randint(1, 2))]
        result = kinds.scalar(self.random)
        inside = expressions.Expressions(self.random, [(n, k, False) for n, k in params], self.params)
        name = self.name("fun")
        declared = ", ".join(f"{n}: {kinds.spelling(k)}" for n, k in params)
        self.statements.append([f"fn {name}({declared}) -> {kinds.spelling(result)} = {inside.of(result, 2)}"])
        self.functions.append((name, [k for _, k in params], result))

    def rejects(self):
        if self.chance(0.15):
            self.arguments.append(self.pick(("--rejects=given.jsonl", "--rejects=given.csv")))
        if self.chance(0.1):
            self.arguments.append("--reject-limit=" + self.pick(("0", "2", "1000000", "5%", "100%")))
        if self.chance(0.1):
            return
        where = self.pick((" write jsonl(\"rejects.jsonl\")", " write jsonl(\"rejects.jsonl\")",
                           " write csv(\"rejects.csv\")", ""))
        limit = self.pick((" limit 1000000",) * 6 + (" limit 100%", " limit 3", " limit 5%", " limit 0", "" if where else " limit 0"))
        self.statements.append([f"rejects{where}{limit}"])

    def let(self, head):
        name, first = self.name("flow"), []
        if head:
            head, flow, *first = head
        else:
            head = self.pick(list(self.flows))
            flow = self.flows[head].copy()
            flow.places, flow.rows_of = False, head
        steps = [self.step(flow) for _ in range(self.random.randint(0, STEPS_MAX // 2))]
        self.statements.append([f"let {name} = {head}", *first, *filter(None, steps)])
        self.flows[name] = flow

    def source(self):
        roll = self.random.random()
        if roll < 0.06:
            count = self.random.choice((self.random.randint(0, 200), self.random.randint(0, 5000)))
            self.large |= count > 200
            return f"range({count})", Flow([("i", "i64", False)])
        if roll < 0.12:
            return self.inline()
        if roll < 0.15:
            return self.whole_files()
        make = self.pick((tables.csv,) * 6 + (tables.jsonl,) * 3 + (tables.values,) * 2 + (tables.text, tables.npy))
        table = make(self.random, self.sizes)
        keyed = folders.put(self, table) if self.chance(0.15) else None
        path, keys = keyed or (self.put_table(table), [])
        head = f"read {table.form}({', '.join([path, *table.options])})"
        if table.form != "text":
            declared = ", ".join(f"{named(n)}: {kinds.spelling(k, q)}" for n, k, q in table.columns)
            head += f" as {{{declared}}}"
        flow = Flow([*table.columns, *keys], True)
        return head, flow, *self.filters(flow, keys)

    def filters(self, flow, keys):
        """Steps that look at keys of the path, mostly at them alone."""
        steps = []
        while keys and self.chance(0.5):
            texts = [self.expressions(Flow(keys)).of("bool", self.random.randint(1, 3)) for _ in range(self.random.randint(1, 2))]
            if self.chance(0.3):
                texts.insert(self.random.randint(0, 1), self.expressions(flow).of("bool", 2))
            steps.append(("where ", [" and ".join(texts)], ""))
        return steps

    def put_table(self, table):
        """Makes the table's files, one or several, plain or compressed. Gives the path to read."""
        name, suffix = self.name("in"), "." + ("txt" if table.form == "text" else table.form)
        if self.chance(0.7):
            packed = suffix + (".gz" if self.chance(0.1) else "")
            self.files[name + packed] = table.file_of(table.pieces)
            return kinds.quote(name + packed)
        names = [f"{name}/{part}{suffix}{self.pick(('', '', '', '.gz'))}"
                 for part in self.random.sample(("a", "b", "B", "c10", "c9", "é"), self.random.randint(1, 4))]
        cuts = sorted(self.random.randint(0, len(table.pieces)) for _ in names[1:])
        for begin, end, part in zip([0, *cuts], [*cuts, len(table.pieces)], names):
            self.files[part] = table.file_of(table.pieces[begin:end])
        if self.chance(0.3):
            return "[" + ", ".join(map(kinds.quote, names)) + "]"
        return kinds.quote(self.pick((f"{name}/", name, f"{name}/*", f"{name}/**", f"**/{name}/[!x]*")))

    def whole_files(self):
        """Each file a row."""
        name = self.name("in")
        cells = tables.Cells(self.random, tables.ODD)
        parts = self.random.sample(("a.txt", "b", "c.gz"), self.random.randint(1, 3))
        for part in parts:
            self.files[f"{name}/{part}"] = [kinds.word(self.random, cells.hostile).encode()
                                            for _ in range(self.random.randint(0, 4))]
        # Of a compressed file over row_max the job knows no length.
        limited = "c.gz" not in parts and self.chance(0.2)
        options = [kinds.quote(f"{name}/*")] + (["row_max = 40B"] if limited else [])
        return f"read files({', '.join(options)})", Flow([("path", "str", False), ("bytes", "bytes", False)])

    def inline(self):
        columns = [(self.name("c"), self.pick(("i64", "str", "f64", "bool")), False)
                   for _ in range(self.random.randint(1, 3))]
        rows = ["{" + ", ".join(f"{n}: {kinds.constant(self.random, k)}" for n, k, _ in columns) + "}"
                for _ in range(self.random.randint(1, 5))]
        return "[" + ", ".join(rows) + "]", Flow(columns)

    def output(self, name):
        flow = self.flows[name].copy()
        flow.places, flow.rows_of = False, name
        steps = [self.step(flow) for _ in range(self.random.randint(0, STEPS_MAX))]
        self.statements.append([name, *filter(None, steps), self.sink(flow)])

    def sink(self, flow):
        texts = [n for n, k, q in flow.columns if k == "str" and not q]
        roll = self.random.random()
        if texts and roll < 0.06:
            column = self.pick(texts)
            flow.columns = [(column, "str", False)]
            sink = (f"select {named(column)} | write text(", self.target(flow, ".txt"), ")")
            return self.appended(sink, "", ("old\n", "\n", "é \r\n"))
        values = [n for n, k, q in flow.columns if (k in tables.NPY or kinds.is_tensor(k)) and not q]
        sized = [n for n, k, q in flow.columns if kinds.is_named(k) and k[1] in tables.NPY and not q]
        if values + sized and roll < 0.14:
            column = self.pick(values + sized)
            flow.columns = [next(c for c in flow.columns if c[0] == column)]
            if column in sized or self.chance(0.2):
                target = [f"\"{self.name('out')}/\"", "bytes = 1B", "stacked = false"]
                return (f"select {named(column)} | limit 20 | write npy(", target, ")")
            return (f"select {named(column)} | write npy(", self.target(flow, ".npy", packs=False), ")")
        if roll < 0.2:
            return ("write json(", self.target(flow, ".json"), ")")
        if roll < 0.4:
            return self.appended(("write jsonl(", self.target(flow, ".jsonl"), ")"), "", ("{}\n", "{\"a\":1}\n"))
        dialect = tables.Dialect(self.random, False)
        sink = ("write csv(", self.target(flow, ".csv") + dialect.options(), ")")
        if not all(n.isidentifier() and n.isascii() for n, _, _ in flow.columns):
            return sink
        header = dialect.delimiter.join(n for n, _, _ in flow.columns)
        front = header + self.pick(("\n", "\n", "\r\n")) if dialect.header else ""
        return self.appended(sink, self.pick(("", "", "\ufeff")) + front if front else "", ("old\n", "1,2,3\n"))

    def appended(self, sink, front, rows):
        """The same sink, which appends to a file that may be there: its front and some of the rows."""
        before, items, after = sink
        path = items[0].strip("\"")
        if path.endswith("/") or not self.chance(0.15):
            return sink
        if "{" not in path and self.chance(0.8):
            body = "".join([front, *(row for row in rows if self.chance(0.6))])
            body = self.pick((body, body, body, body[:-1], ""))
            self.files[path] = [body.encode()]
        return before, [*items, "append = true"], after

    def target(self, flow, suffix, packs=True):
        """Where a sink writes: a file, one in a folder, a compressed one, a folder of parts, and these by key."""
        name, roll = self.name("out"), self.random.random()
        keys = [n for n, k, q in flow.columns if not q and k in ("i64", "bool", "str", "date", "decimal")]
        if keys and self.chance(0.15):
            key = "{" + named(self.pick(keys)) + "}"
            return self.pick(([f"\"{name}/{key}{suffix}\""], [f"\"{name}-{key}/{key}{suffix}\""],
                              [f"\"{name}/k={key}/\"", "bytes = 100B"]))
        if roll < 0.8:
            return [f"\"{name}{suffix}\""]
        if roll < 0.86:
            return [f"\"{name}/deep/x{suffix}\""]
        if roll < 0.92 and packs:
            return [f"\"{name}{suffix}.gz\""]
        return [f"\"{name}/\"", f"bytes = {self.pick(('1B', '100B', '1KiB', '64KiB'))}"]

    # ---- steps ---------------------------------------------------------------------------------

    def step(self, flow):
        ways = [self.where] * 3 + [self.derive] * 5 + [self.select, self.drop, self.rename, self.explode, self.group,
                self.group, self.aggregate, self.sort, self.sort, self.limit, self.skip, self.distinct, self.join,
                self.join, self.union, self.zip, self.sample, self.shuffle, self.hint, self.repartition,
                self.window, self.window, self.top, self.pivot, self.unpivot] + [self.hint] * 15 * self.gpu
        way = self.batch if self.calls and self.chance(0.3) else self.pick(ways)
        step = way(flow)
        if way not in (self.where, self.derive, self.batch, self.select, self.drop, self.rename, self.explode, self.sample,
                       self.hint):
            flow.places = False
        if way not in (self.select, self.drop, self.rename, self.sort, self.shuffle, self.hint, self.repartition,
                       self.zip):
            flow.rows_of = None
        return step

    def where(self, flow):
        text = self.expressions(flow).of("bool", self.random.randint(1, 4))
        known = [(n, k) for n, k, q in flow.columns if q]
        if known and self.chance(0.4):  # What it leaves is never null.
            name, kind = self.pick(known)
            text = self.pick(("{0} != null and {1}", "{1} and {0} != null", "not ({0} == null or {1})")
                             ).format(named(name), text)
            self.put(flow, name, kind, False)
        return ("where ", [text], "")

    def derive(self, flow):
        items, used = [], set()
        for _ in range(self.random.randint(1, 3)):
            kind = kinds.scalar(self.random) if self.chance(0.85) else self.pick((("list", "i64", False),
                                                                                 ("list", "str", False), "json"))
            maps = [k for _, k, _ in flow.columns if k[0] == "map" and not k[2] and not kinds.holds_tensor(k)]
            if maps and self.chance(0.4):
                of = self.pick(maps)
                kind = self.pick((of, kinds.entries_of(of), ("list", of[1], False), of[1]))
            structs = [k for _, k, _ in flow.columns if k[0] == "struct" and not kinds.holds_tensor(k)]
            if structs and self.chance(0.3):
                kind = self.pick(structs)
            held = [k for _, k, _ in flow.columns if kinds.is_tensor(k)]
            if held and self.chance(0.4):
                kind = self.pick(held) if self.chance(0.6) else kinds.tensor(self.random)
            maker = self.expressions(flow, used)
            nullable = self.chance(0.15)
            text = (maker.nullable if nullable else maker.of)(kind, self.random.randint(1, 4))
            if self.chance(0.1):
                text += " else " + (kinds.literal(self.random, kind) if self.chance(0.7) else "reject")
            old = [n for n, _, _ in flow.columns if n not in used]
            name = self.pick(old) if old and self.chance(0.25) else self.name("n")
            used.add(name)
            items.append(f"{named(name)}: {kinds.spelling(kind, nullable)} = {text}")
            self.put(flow, name, kind, nullable)
        return ("derive ", items, "")

    def batch_function(self, name, kind, nullable, words=""):
        """Its name in the program, which declares it the first time."""
        full = kinds.spelling(kind, nullable)
        if name not in self.batches:
            self.batches.append(name)
            impure = " impure" if self.chance(0.2) and name != "picky" else ""
            self.statements.insert(0, [f"extern fn {name}(x: {full}) -> {full} from \"batch.c\"{impure}{words}"])
        return name

    def c_call(self, flow):
        """A call of a function in C over batches, the kind of its result, and whether that may be null."""
        roll, maker = self.random.random(), self.expressions(flow)
        used = sum(b.startswith("give") for b in self.batches)
        known = [column for column in flow.columns if kinds.crosses(column[1], True)]
        if roll < 0.5 and used < GIVES and known:
            column, kind, nullable = self.pick(known)
            return f"{self.batch_function(f'give{used}', kind, nullable, ' batch')}({named(column)})", kind, nullable
        kind, nullable = "i64", roll > 0.75
        call = (self.batch_function("fussy", kind, True, " fallible batch state") if nullable else
                self.batch_function("picky", kind, False, " batch" + (" alone" if self.chance(0.3) else "")))
        known = [named(n) for n, k, q in flow.columns if k == kind and (nullable or not q)]
        faulty = [named(n) for n, k, q in flow.columns if k == kind and not q]
        if faulty and self.chance(0.4):  # A third of the rows has no argument.
            column = self.pick(faulty)
            return f"{call}({column} // ({column} % 3))", kind, nullable
        if known and self.chance(0.5):
            return f"{call}({self.pick(known)})" + self.pick(("", " else 7", " else reject")), kind, nullable
        return f"{call}({(maker.nullable if nullable else maker.of)(kind, 2)})", kind, nullable

    def python_function(self, params, result, callee, words):
        """Declares a function of called.py and gives its name in the program."""
        name = self.name("py")
        declared = ", ".join(f"x{i}: {kinds.spelling(k, q)}" for i, (k, q) in enumerate(params))
        more = " alone" if self.chance(0.1) else ""
        if "pure" not in words and self.chance(0.2):
            more += " impure"
        self.statements.insert(0, [f"extern fn {name}({declared}) -> {kinds.spelling(*result)} "
                                   f"from python \"called:{callee}\"{words}{more}"])
        return name

    def python_call(self, flow):
        """As `c_call`, of a function in Python."""
        roll, maker = self.random.random(), self.expressions(flow)
        known = [column for column in flow.columns if kinds.crosses(column[1], False)]
        if roll < 0.4 and known:
            column, kind, nullable = self.pick(known)
            callee, words = self.pick(tuple(PYTHON_GIVES.items()))
            call = self.python_function([(kind, nullable)], (kind, nullable), callee, words)
            return f"{call}({named(column)})", kind, nullable
        if roll < 0.6 and known:
            two = [self.pick(known), self.pick(known)]
            call = self.python_function([c[1:] for c in two], ("str", False), "said", "")
            return f"{call}({', '.join(named(c[0]) for c in two)})", "str", False
        # Each row that ends a process takes two starts of the interpreter.
        names = [n for n in PYTHON_NUMBERS if n != "quits" or not self.large and self.chance(0.3)]
        callee, nullable = self.pick(names), self.chance(0.3)
        call = self.python_function([("i64", nullable)], ("i64", nullable), callee, PYTHON_NUMBERS[callee])
        known = [named(n) for n, k, q in flow.columns if k == "i64" and (nullable or not q)]
        if known and self.chance(0.6):
            return f"{call}({self.pick(known)})" + self.pick(("", " else 7", " else reject")), "i64", nullable
        return f"{call}({(maker.nullable if nullable else maker.of)('i64', 2)})", "i64", nullable

    def batch(self, flow):
        """A function over batches, of a column or of an expression over columns."""
        name = self.name("n")
        text, kind, nullable = self.calls(flow)
        items = [f"{name} = {text}"]
        self.put(flow, name, kind, nullable)
        if self.chance(0.4):
            other, more = self.name("n"), self.expressions(flow, [name])
            items.append(f"{other}: i64 = {more.of('i64', 2)}")
            self.put(flow, other, "i64", False)
        if self.chance(0.3):
            # No call takes so much time or memory: these make a stage, and say how many tasks run.
            more = self.pick(("", "", ", memory = 1MiB")) if self.calls == self.c_call else \
                self.pick(("", ", timeout = 50s", ", memory = 1MiB"))
            return (f"with (batch = {self.random.randint(1, 40)}{more}) {{ derive ", items, " }")
        return ("derive ", items, "")

    @staticmethod
    def put(flow, name, kind, nullable):
        for i, column in enumerate(flow.columns):
            if column[0] == name:
                flow.columns[i] = (name, kind, nullable)
                return
        flow.columns.append((name, kind, nullable))

    def some(self, flow, least=1):
        count = self.random.randint(least, len(flow.columns))
        return self.random.sample(flow.columns, count)

    def select(self, flow):
        chosen = self.some(flow)
        items = [named(n) for n, _, _ in chosen]
        if self.chance(0.4):
            kind = kinds.scalar(self.random)
            name = self.name("n")
            items.append(f"{name} = {self.expressions(flow).of(kind, 2)}")
            chosen = [*chosen, (name, kind, False)]
        flow.columns = chosen
        return ("select ", items, "")

    def drop(self, flow):
        if len(flow.columns) < 3:
            return None
        gone = self.pick(flow.columns)
        flow.columns.remove(gone)
        return ("drop ", [named(gone[0])], "")

    def rename(self, flow):
        at = self.random.randrange(len(flow.columns))
        old, kind, nullable = flow.columns[at]
        new = self.name("r")
        flow.columns[at] = (new, kind, nullable)
        return ("rename ", [f"{new} = {named(old)}"], "")

    def explode(self, flow):
        lists = [i for i, (_, k, _) in enumerate(flow.columns) if not kinds.is_scalar(k) and k[0] == "list"]
        if not lists:
            texts = [i for i, (_, k, q) in enumerate(flow.columns) if k == "str" and not q]
            if not texts:
                return None
            at = self.pick(texts)
            name = self.name("n")
            old = flow.columns[at][0]
            flow.columns.append((name, "str", False))
            return (f"derive {name} = split({named(old)}, \" \") | explode {name}", [], "")
        at = self.pick(lists)
        name, kind, _ = flow.columns[at]
        outer = self.random.random() < 0.4
        flow.columns[at] = (name, kind[1], kind[2] or outer)
        return ("explode outer " if outer else "explode ", [named(name)], "")

    # ---- breakers ------------------------------------------------------------------------------

    def keys(self, flow, expressions_too=True):
        """Items of `group by` and their columns."""
        found = [c for c in flow.columns if is_key(c[1])]
        count = self.random.randint(1, KEYS_MAX)
        chosen = self.random.sample(found, min(count, len(found)))
        items = [named(n) for n, _, _ in chosen]
        if expressions_too and (not chosen or self.chance(0.25)):
            kind, name = kinds.scalar(self.random), self.name("k")
            items.append(f"{name} = {self.expressions(flow).of(kind, 2)}")
            chosen = [*chosen, (name, kind, False)]
        return items, chosen

    def aggregates(self, flow):
        items, columns = [], []
        for _ in range(self.random.randint(1, 4)):
            made = self.one_aggregate(flow)
            if made:
                name = self.name("g")
                text, result = self.over_aggregate(*made)
                items.append(f"{name} = {text}")
                columns.append((name, *result))
        if not items:
            name = self.name("g")
            items, columns = [f"{name} = count()"], [(name, "i64", False)]
        return items, columns

    def over_aggregate(self, text, result):
        """Now and then an expression over the aggregate, which may fault for a finished group."""
        kind, nullable = result
        if " where " in text or not self.chance(0.15):
            return text, result
        if nullable:
            nothing = {"str": '""', "bool": "false"}.get(kind, "0" if kind in kinds.INTEGERS else None)
            text = f"({text} ?? {nothing})" if nothing else text
        if kind in kinds.INTEGERS:
            text = f"7 // {text}"
        elif kind == "str":
            text, kind = f"i64({text})", "i64"
        else:
            return text, result
        return text + self.pick(("", "", " else 1", " else reject")), (kind, False)

    def one_aggregate(self, flow):
        maker = self.expressions(flow)
        call = self.pick(expressions.CALLS["agg"])
        kind = "T" if "T" in call.params else None
        if kind:
            kind = self.pick([k for _, k, _ in flow.columns] or ["i64"])
            if not is_key(kind):
                kind = "str"
        result, nullable = call.result
        if "decimal" in call.params:
            kind = self.pick(kinds.DECIMALS)
        if result == "T":
            result = kind
        elif result == ("list", "T", False):
            result = ("list", kind, False)
        elif result == "decimal":
            result = f"decimal(38,{kinds.digits_of(kind)[1]})"
        args = []
        for param in call.params:
            if param == "const f64":
                args.append(self.pick(("0.0", "0.1", "0.5", "0.9", "1.0")))
            elif param == "const str":
                args.append(kinds.quote(self.pick(("", ",", "; ", "\n", "é"))))
            else:
                wanted = kind if param in ("T", "decimal") else param
                args.append(maker.side(wanted, self.random.randint(0, 2)))
        text = f"{call.name}({', '.join(args)})"
        if self.chance(0.2):
            text += f" where {maker.of('bool', 2)}"
        return text, (result, nullable)

    def group(self, flow):
        keys, columns = self.keys(flow)
        items, more = self.aggregates(flow)
        flow.columns = columns + more
        return (f"group by {', '.join(keys)} {{ ", items, " }")

    def pivot(self, flow):
        """Columns named by values of a column or an expression, of the rows with each."""
        kind = self.pick(("str", "bool", "i64", "i32", "u8"))
        known = [named(n) for n, k, _ in flow.columns if k == kind]
        text = self.pick(known) if known and self.chance(0.7) else self.expressions(flow).of(kind, 2)
        keys, columns = self.keys(flow)
        values = {"bool": ("true", "false"), "str": ("x", "Abc", "x y", "1", "-")}.get(kind, ("0", "1", "2", "7", "20"))
        items = []
        for value in self.random.sample(values, self.random.randint(1, min(3, len(values)))):
            made = self.one_aggregate(flow)
            if made and all(value != n for n, _, _ in columns):
                written, result = self.over_aggregate(*made)
                items.append((f'"{value}"' if kind == "str" else value) + f" = {written}")
                columns = [*columns, (value, *result)]
        if not items:
            return None
        flow.columns = columns
        return (f"pivot {text} by {', '.join(keys)} {{ ", items, " }")

    def unpivot(self, flow):
        kind = self.pick([k for _, k, _ in flow.columns])
        alike = [column for column in flow.columns if column[1] == kind]
        chosen = self.random.sample(alike, min(len(alike), self.random.randint(1, 3)))
        flow.columns = [column for column in flow.columns if column not in chosen]
        name, value = self.name("u"), self.name("u")
        flow.columns += [(name, "str", False), (value, kind, any(q for _, _, q in chosen))]
        return ("unpivot (", [named(n) for n, _, _ in chosen], f") as ({name}, {value})")

    def aggregate(self, flow):
        if self.chance(0.5):
            return self.group(flow)
        items, flow.columns = self.aggregates(flow)
        return ("aggregate { ", items, " }")

    def sort(self, flow):
        items, _ = self.keys(flow, False)
        if not items or self.chance(0.2):
            items = [self.expressions(flow).of(kinds.scalar(self.random), 2)]
        return ("sort ", [i + self.pick(("", "", " desc")) + self.pick(("", "", " nulls first")) for i in items], "")

    # ---- windows ---------------------------------------------------------------------------------

    def order(self, flow, down=" desc"):
        """Keys of an order, and the kind of the only one."""
        found = [c for c in flow.columns if is_key(c[1])]
        chosen = self.random.sample(found, min(self.random.randint(1, 2), len(found)))
        items = [named(n) + self.pick(("", "", down)) + self.pick(("", "", "", " nulls first"))
                 for n, _, _ in chosen]
        return items, chosen[0][1] if len(chosen) == 1 else None

    def partition(self, flow):
        found = [named(n) for n, k, _ in flow.columns if is_key(k)]
        return self.random.sample(found, min(self.random.randint(0, 2), len(found)))

    def frame(self, kind):
        """A frame over rows, or over a range of the one sort key; now and then none."""
        whole = kind in kinds.INTEGERS
        time = kind in (*kinds.TIMESTAMPS, "date", "duration")
        if self.chance(0.3):
            return self.pick(("", "", " rows all"))
        range_, reach = " rows", ("0", "1", "2", "5", "40")
        if (whole or time) and self.chance(0.5):
            range_, reach = " range", ("0", "1", "10", "100000") if whole else ("0s", "90s", "1d", "400d", "90000d")
            if kind == "date" and self.chance(0.5):
                reach = ("0mo", "1mo", "13mo", "200y", "99999999999mo")
        back, ahead = f" {self.pick(reach)} back", f" {self.pick(reach)} ahead"
        return range_ + self.pick((back, back, ahead, back + ahead))

    def windowed(self, flow, ordered, kind):
        """A call, and the kind of its result."""
        maker = self.expressions(flow)
        numbers = ["row_number()", f"ntile({self.random.randint(1, 5)})"]
        if ordered:
            numbers += ["rank()", "dense_rank()"]
            numbers += [f"session({maker.of('i64', 1)}, {self.random.randint(0, 9)})",
                        f"session({maker.of('timestamp', 1)}, {self.pick(('0s', '1d', '900d'))})"]
        if self.chance(0.25):
            return self.pick(numbers), ("i64", False)
        frame = self.frame(kind) if ordered else self.pick(("", " rows all", " rows 2 back"))
        if self.chance(0.4):
            name, k, q = self.pick(flow.columns)
            neighbours = [(f"lag({named(name)})", True), (f"lead({named(name)}, {self.random.randint(0, 4)})", True),
                          (f"lag({named(name)}, {self.random.randint(0, 40)})", True)] if ordered else []
            text, nullable = self.pick([*neighbours, (f"first({named(name)}){frame}", q),
                                        (f"last({named(name)}){frame}", q), (f"fill_forward({named(name)})", q),
                                        (f"nth({named(name)}, {self.random.randint(1, 4)}){frame}", True)])
            return text, (k, nullable)
        where = f" where {maker.of('bool', 1)}" if self.chance(0.2) else ""
        if self.chance(0.2):
            return f"count(){where}{frame}", ("i64", False)
        k = self.pick(("i64", "i64", "f64", "f64", "str", "date", "timestamp", "timestamp[s]", "duration", *kinds.DECIMALS[:2], "u64"))
        nullable = self.chance(0.4)
        value = (maker.nullable if nullable else maker.of)(k, 1)
        time = k in kinds.TIMES
        adds = () if k == "str" else ("mean",) if time and k != "duration" else ("sum", "mean")
        name = self.pick((*adds, "min", "max", "count"))
        return f"{name}({value}){where}{frame}", {
            "count": ("i64", False), "mean": (k if time else "f64", True),
            "sum": (f"decimal(38,{kinds.digits_of(k)[1]})" if k.startswith("decimal") else k, False),
        }.get(name, (k, True))

    def window(self, flow):
        keys = self.partition(flow)
        if self.huge or (self.large and not keys):  # The interpreter goes through a partition for each of its rows.
            return None
        order, kind = self.order(flow) if self.chance(0.85) else ([], None)
        items, made = [], []
        for _ in range(self.random.randint(1, 4)):
            text, result = self.windowed(flow, bool(order), kind)
            name = self.name("w")
            items.append(f"{name}: {kinds.spelling(*result)} = {text}")
            made.append((name, *result))
        for column in made:
            self.put(flow, *column)
        by = f"by {', '.join(keys)} " if keys else ""
        return (f"window {by}{'sort ' + ', '.join(order) + ' ' if order else ''}{{ ", items, " }")

    def top(self, flow):
        order, _ = self.order(flow, " asc")
        if not order:
            return None
        keys = self.partition(flow)
        if keys and self.chance(0.4):
            order = [o.replace(" asc", " desc") for o in order]
            return (f"distinct {', '.join(keys)} keep {self.pick(('first', 'last'))} by ", order, "")
        per = f" per {', '.join(keys)}" if keys else ""
        return (f"top {self.pick((0, 1, 3, 10))} by ", order, per)

    def limit(self, flow):
        return ("limit ", [str(self.pick((1, 3, 10, 100)))], "")

    def skip(self, flow):
        return ("skip ", [str(self.pick((0, 1, 2, 5, 20)))], "")

    def distinct(self, flow):
        if all(is_key(k) for _, k, _ in flow.columns) and self.chance(0.4):
            return ("distinct", [], "")
        items, _ = self.keys(flow, False)
        return ("distinct ", items, "") if items else None

    def sample(self, flow):
        return (f"sample {self.pick(('0.5', '0.1', '0.9', '50%', '1.0'))} seed {self.random.randint(-5, 99)}", [], "")

    def shuffle(self, flow):
        return (f"shuffle seed {self.random.randint(-5, 99)}", [], "")

    def hint(self, flow):
        if self.gpu and self.chance(0.9):
            steps = [(self.where if self.chance(0.3) else self.derive)(flow) for _ in range(self.random.randint(1, 3))]
            texts = [step_text(step) for step in steps] + ([self.kernel_groups(flow)] if self.chance(0.4) else [])
            return ("on gpu {\n", ["\n".join(texts)], "\n}", )
        step = self.derive(flow) if self.chance(0.5) else self.where(flow)
        return (self.pick(("with (batch = 64)", "on cpu", "with (cpus = 1)", "with (concurrency = 2, batch = 5)")) + " { " + step_text(step) + " }", [], "")

    def kernel_groups(self, flow):
        """Groups that kernels fill, unless a key or an argument is computed by something else."""
        short, whole = ("i8", "i16", "i32"), (*kinds.INTEGERS, "date", "duration")
        keys = [named(n) for n, k, _ in flow.columns if k in (*whole, "bool", "timestamp")]
        keys = self.random.sample(keys, min(len(keys), self.pick((0, 1, 1, 2, 3))))
        calls = [("count()", "i64", False)]
        for name, kind, _ in flow.columns:
            x = named(name)
            calls += [(f"count({x})", "i64", False)] * (kind in (*whole, "bool"))
            calls += [(f"sum({x})", "i64", False)] * (kind in short) + [(f"mean({x})", "f64", True)] * (kind in kinds.INTEGERS)
            calls += [(f"{f}({x})", kind, True) for f in ("min", "max")] * (kind in whole)
            calls += [(f"{f}({x})", "bool", True) for f in ("any", "all")] * (kind == "bool")
        columns, items = [column for column in flow.columns if named(column[0]) in keys], []
        columns.sort(key=lambda column: keys.index(named(column[0])))
        conditions = [f" where {named(n)}" for n, k, q in flow.columns if k == "bool" and not q]
        for text, kind, nullable in self.random.sample(calls, min(len(calls), self.random.randint(1, 6))):
            name = self.name("g")
            items.append(f"{name} = {text}{self.pick(conditions) if conditions and self.chance(0.3) else ''}")
            columns.append((name, kind, nullable))
        flow.columns = columns
        return (f"group by {', '.join(keys)} " if keys else "aggregate ") + "{ " + ", ".join(items) + " }"

    def repartition(self, flow):
        return (self.pick(("repartition rows 7", "repartition bytes 4KiB")), [], "")

    # ---- two flows -----------------------------------------------------------------------------

    def other(self):
        """Another flow, its columns renamed."""
        return self.renamed(self.pick(list(self.flows))) if self.flows else None

    def renamed(self, name):
        columns = [(self.name("y"), n, k, q) for n, k, q in self.flows[name].columns]
        items = ", ".join(f"{new} = {named(old)}" for new, old, _, _ in columns)
        return f"({name} | select {items})", [(new, k, q) for new, _, k, q in columns]

    def side_key(self, name, column):
        """A key of a join: the column, now and then an expression over it that may fault."""
        faults = column[1] in kinds.INTEGERS and not column[2] and self.chance(0.15)
        return f"7 // {name}" if faults else name

    def pair_condition(self, flow, right):
        """What a pair of rows has to be besides having equal keys; it may fault."""
        both = Flow(flow.columns + right)
        pairs = [(a, b) for a in flow.columns for b in right if a[1] == b[1] and is_key(a[1]) and a[1] not in ("bool", "bytes")]
        if pairs and self.chance(0.5):
            a, b = self.pick(pairs)
            return f"{named(a[0])} {self.pick(('<', '<=', '>', '>=', '!='))} {named(b[0])}"
        return f"not ({self.expressions(both).of('bool', self.random.randint(1, 3))})"

    def asof(self, flow, right):
        """The nearest row, as a list of one part of `on`; empty without columns that have a distance."""
        near = (*kinds.INTEGERS, "f32", "f64", "date", "timestamp", "duration")
        pairs = [(a, b) for a in flow.columns for b in right if a[1] == b[1] and a[1] in near]
        if not pairs:
            return []
        a, b = self.pick(pairs)
        text = f"asof {named(a[0])} {self.pick(('<', '<=', '>', '>='))} {named(b[0])}"
        if self.chance(0.5):
            distance = self.pick((0, 1, 3, 40, 100))
            text += f" within {distance}h" if a[1] in ("date", "timestamp", "duration") else f" within {distance}"
        return [text]

    def range_column(self, kind, other):
        """A column of `kind` in no order, now and then with nulls or NaN: its expression, and is it nullable?"""
        most = self.pick((30, 100))
        place = f"hash(i + {self.random.randint(0, 99)}) % {most}"
        if other and self.chance(0.5):
            text = f"{other} + {self.pick(('1', '4'))}{'.5' if kind[0] == 'f' else 'h' if kind in kinds.TIMES else ''}"
        elif kind in kinds.TIMES:
            text = f"{kind}(\"2024-01-01\") + 1h * i64({place})" if kind != "duration" else f"1h * i64({place})"
        elif kind in ("f32", "f64"):
            text = f"{kind}(i64({place})) / 4.0"
        else:
            text = f"{kind}({place})"
        odd = self.pick(("", "", "null", "f64(\"nan\")" if kind == "f64" else ""))
        return f"if i % 9 == 4 then {odd} else {text}" if odd else text, odd == "null"

    def ranges(self, flow):
        """Right rows in no order of their bounds, more than an index needs, and what has to hold of a pair of rows."""
        near = ("i64", "i64", "i32", "u8", "f64", "timestamp", "duration")
        lefts = [(named(n), k) for n, k, _ in flow.columns if k in near]
        if not lefts or self.huge or self.ranged:
            return None
        self.ranged = True  # Matches are many: one such join is enough.
        left, kind = self.pick(lefts)
        begin, end, key, number = (self.name("y") for _ in range(4))
        text, null = self.range_column(kind, None)
        steps, right = [f"{begin} = {text}"], [(begin, kind, null)]
        text, null = self.range_column(kind, begin if kind in ("i64", "f64", "timestamp", "duration") and not null else None)
        steps.append(f"{end} = {text}")
        right += [(end, kind, null), (key, "i64", False), (number, "i64", False)]
        steps += [f"{key} = i % 2", f"{number} = i"]
        if kind[0] in "iu" and self.chance(0.6):
            left = f"{left} % 90"
        on = [f"{left} {self.pick(('>=', '>'))} {begin}", f"{left} {self.pick(('<=', '<'))} {end}"]
        if not self.large:
            on = self.pick((on, on, on, on[:1], on[1:]))
        on += self.pick(([], [], [f"{number} % 3 != 1"], [f"{left} != {end}"]))
        names = ", ".join(n for n, _, _ in right)
        count = 160 if self.large else self.random.randint(100, 400)
        return f"(range({count}) | derive {', '.join(steps)} | select {names})", right, on, key

    def range_join(self, flow):
        found = self.ranges(flow)
        if not found:
            return None
        text, right, on, key = found
        wholes = [named(n) for n, k, _ in flow.columns if k == "i64"]
        if wholes and self.chance(0.4):
            on = [f"{self.pick(wholes)} % 2 == {key}", *on]
        side = self.pick(("", "left ", "right ", "full ", "semi ", "anti "))
        return self.joined(flow, side, text, right, on)

    def join(self, flow):
        if self.chance(0.25):
            return self.range_join(flow)
        found = self.other()
        if not found:
            return None
        text, right = found
        if self.large:  # All pairs of two large flows would be too many.
            text = text[:-1] + " | limit 20)"
        pairs = [(a, b) for a in flow.columns for b in right if a[1] == b[1] and is_key(a[1])]
        if not pairs:
            return None
        keys = self.random.sample(pairs, 1 if self.chance(0.8) else min(2, len(pairs)))
        side = self.pick(("", "left ", "right ", "full ", "semi ", "anti "))
        on = [f"{self.side_key(named(a[0]), a)} == {self.side_key(b[0], b)}" for a, b in keys]
        if self.chance(0.4):
            on = on if self.chance(0.8) else []
            on.append(self.pair_condition(flow, right))
        if self.chance(0.35) and side not in ("right ", "full "):
            on = on if self.chance(0.8) else []
            on = on + self.asof(flow, right) or on or ["true"]
        return self.joined(flow, side, text, right, on)

    def joined(self, flow, side, text, right, on):
        left = flow.columns
        if side in ("right ", "full "):
            left = [(n, k, True) for n, k, _ in left]
        if side in ("left ", "full "):
            right = [(n, k, True) for n, k, _ in right]
        flow.columns = left if side in ("semi ", "anti ") else left + right
        return (f"join {side}{text} on {self.pick((', ', ' and ')).join(on)}", [], "")

    def union(self, flow):
        names = [n for n, f in self.flows.items() if f.columns == flow.columns]
        if names:
            return (f"union {self.pick(names)}", [], "")
        found = self.other()
        return None if not found else self.union_of(flow, found)

    def union_of(self, flow, found):
        """The columns of both that have one type, under the names of the left."""
        text, right = found
        pairs, rest = [], list(right)
        for column in flow.columns:
            twin = next((c for c in rest if c[1:] == column[1:]), None)
            if twin:
                rest.remove(twin)
                pairs.append((column, twin[0]))
        if not pairs:
            return None
        flow.columns = [column for column, _ in pairs]
        mine = ", ".join(named(c[0]) for c in flow.columns)
        theirs = ", ".join(f"{named(c[0])} = {twin}" for c, twin in self.random.sample(pairs, len(pairs)))
        return (f"select {mine} | union ({text[1:-1]} | select {theirs})", [], "")

    def zip(self, flow):
        if not self.flows or self.chance(0.7):
            return None
        if flow.rows_of:
            text, right = self.renamed(flow.rows_of)
            if self.chance(0.3):
                text = f"{text[:-1]} | sort {right[0][0]})" if is_key(right[0][1]) else text
            flow.columns = flow.columns + right
            return (f"zip {text}", [], "")
        text, right = self.other()
        flow.columns = flow.columns + right
        if self.chance(0.1):  # They may differ in length.
            return (f"zip {text}", [], "")
        return (f"limit 1 | zip ({text[1:-1]} | limit 1)", [], "")
