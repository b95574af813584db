"""The families of the matrix: the data, the program and the program by hand of each member."""

from dataclasses import dataclass

PAYLOAD = ("p1=text:0:20", "p2=i:0", "p3=f:0", "p4=text:0:12:0:50", "p5=d:0:0:0:20")
TYPES = {"t": "str", "w": "timestamp", "i": "i64", "d": "decimal(18, 2)", "f": "f64", "b": "bool"}


@dataclass(frozen=True)
class Member:
    name: str
    family: str
    rows: int       # For a scale of 1.
    columns: tuple  # As columns.c takes them.
    program: str    # Reads `input`, writes `out`.
    hand: str       # The C program,
    arguments: tuple  # and what it is given after input and output.


def schema(columns):
    """The columns as a program declares them."""
    fields = []
    for column in columns:
        name, spec = column.split("=")
        parts = spec.split(":")
        nulls = len(parts) > 4 and parts[4] != "0"
        fields.append(f"{name}: {TYPES[parts[0][0]]}{'?' if nulls else ''}")
    return ", ".join(fields)


def program(columns, steps):
    return (f'param input: str = "in.csv"\nparam out: str = "out.csv"\n\n'
            f"read csv(input) as {{{schema(columns)}}}\n{steps}\n| write csv(out)\n")


def sort_member(name, keys, rows=2_000_000):
    """`keys` are columns as columns.c takes them, without a name, with `-` in front to descend."""
    columns, names, hand = [], [], []
    for i, key in enumerate(keys):
        descends = key.startswith("-")
        key = key.lstrip("-")
        columns.append(f"k{i}={key}")
        names.append(f"k{i}{' desc' if descends else ''}")
        hand.append(f"{i}{key[0]}{'-' if descends else ''}")
    columns += PAYLOAD
    return Member(f"sort_{name}", "sort", rows, tuple(columns),
                  program(columns, f"| sort {', '.join(names)}"), "sort",
                  (str(len(columns)), ",".join(hand)))


def keys_member(name, key, rows=5_000_000):
    """Distinct values of a text, and its groups with their counts."""
    columns = (f"key={key}", "x=i:100")
    for kind, steps in (("distinct", "| select key | distinct"),
                        ("count", "| group by key { rows = count() }")):
        yield Member(f"keys_{name}_{kind}", "keys", rows, columns, program(columns, steps), "keys",
                     (kind,))


MEMBERS = (
    sort_member("int", ("i:0",)),
    sort_member("few_texts_time_int", ("t:100:12", "w:1000", "i:0")),
    sort_member("many_texts", ("t:0:20",)),
    sort_member("prefix_texts", ("t:0:60:40",)),
    sort_member("few_long_texts", ("t:50:60:40", "i:0")),
    sort_member("bool_text_decimal", ("b:2", "t:1000:24:8", "-d:0:0:0:10")),
    sort_member("text_null_desc_float", ("-t:5000:16:0:20", "-f:0")),
    sort_member("four_mixed", ("i:20", "t:200:18:12", "-w:5000", "d:0")),
    sort_member("two_texts", ("t:30:30:20", "t:0:14:4")),
    sort_member("all_ties", ("t:3:20:19", "b:2")),
    *keys_member("short_many", "t:0:8"),
    *keys_member("long_many", "t:0:16"),
    *keys_member("half", "t:1500000:12"),
)
