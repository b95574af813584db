"""lambdas.py: calls of map, filter, any, all, reduce and sort, whose lambdas are expressions over the row and over elements."""
import kinds

ELEMENTS = ("i64", "i64", "str", "f64", "i32", "bool", "date", "decimal(15,2)", "u8", "timestamp", "json", "bytes")


class Lambdas:
    """What Expressions makes of lists. `level` counts the lambdas around, whose parameters are columns of it."""

    def lists(self):
        return [(n, k) for n, k, q in self.columns if not kinds.is_scalar(k) and k[0] == "list" and not q]

    def some_list(self, depth):
        """A list, with the kind of its elements and whether they may be null."""
        found = self.lists()
        if found and self.chance(0.6):
            name, (_, elem, nullable) = self.pick(found)
            return name, elem, nullable
        if self.chance(0.3):
            return f"sequence({self.random.randint(-2, 1)}, {self.random.randint(0, 6)})", "i64", False
        elem = self.pick(ELEMENTS)
        if self.chance(0.3):
            elem = ("list", elem, False)
        return self.of(("list", elem, False), min(depth, 1)), elem, False

    def inside(self, *locals_):
        """Expressions of a lambda: (kind, may be null) of each of its parameters. And their names."""
        names = [f"el{self.level}_{i}" for i in range(len(locals_))]
        columns = self.columns + [(name, *local) for name, local in zip(names, locals_)]
        inner = type(self)(self.random, columns, self.params, self.functions, self.places, self.made)
        inner.level = self.level + 1
        return inner, names

    def body(self, inner, kind, nullable, depth):
        if nullable:
            return inner.nullable(kind, depth)
        text = inner.of(kind, depth)
        return f"{text} else {inner.leaf(kind)}" if self.chance(0.15) else text

    def mapped(self, kind, depth):
        _, elem, nullable = kind
        xs, of, null = self.some_list(depth)
        inner, (x,) = self.inside((of, null))
        return f"map({xs}, {x} -> {self.body(inner, elem, nullable, depth)})"

    def filtered(self, kind, depth):
        inner, (x,) = self.inside((kind[1], kind[2]))
        return f"filter({self.of(kind, depth)}, {x} -> {self.body(inner, 'bool', False, depth)})"

    def sorted(self, kind, depth):
        inner, (x,) = self.inside((kind[1], kind[2]))
        key = self.comparable()
        body = self.body(inner, key, self.chance(0.3), depth)
        return f"{self.pick(('sort', 'sort_desc', 'distinct'))}({self.of(kind, depth)}, {x} -> {body})"

    def quantified(self, _, depth):
        xs, of, null = self.some_list(depth)
        inner, (x,) = self.inside((of, null))
        return f"{self.pick(('any', 'all'))}({xs}, {x} -> {self.body(inner, 'bool', False, depth)})"

    def folded(self, kind, depth):
        """Of a scalar: a number written out would take the type of the elements."""
        xs, of, null = self.some_list(depth)
        inner, (acc, x) = self.inside((kind, False), (of, null))
        start = self.fixed(kind, depth)
        return f"reduce({xs}, {start}, ({acc}, {x}) -> {self.body(inner, kind, False, depth)})"
