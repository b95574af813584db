"""Sorts of whole rows by one to four keys, and texts as keys of groups and distinct."""

from member import File, Member, program

PAYLOAD = ("p1=t:0:20", "p2=i:0", "p3=f:0", "p4=t:0:12:0:50", "p5=d:0:0:0:20")


def sort_member(name, keys, rows=2_000_000):
    """`keys` are columns as columns.c takes them, without a name, with `-` in front to descend."""
    columns, names, hand, order, descending = [], [], [], [], []
    for i, key in enumerate(keys):
        descends = key.startswith("-")
        key = key.lstrip("-")
        columns.append(f"k{i}={key}")
        names.append(f"k{i}{' desc' if descends else ''}")
        hand.append(f"{i}{key[0]}{'-' if descends else ''}")
        order.append(f"k{i} {'DESC' if descends else 'ASC'} NULLS LAST")
        descending.append(descends)
    columns += PAYLOAD
    file = File(rows, tuple(columns))
    by = [f"k{i}" for i in range(len(keys))]
    return Member(
        f"sort_{name}", "sort", program(file, f"| sort {', '.join(names)}"), "sort",
        (str(len(columns)), ",".join(hand)), file, duckdb=f"SELECT * FROM {{input}} ORDER BY {', '.join(order)}",
        polars=lambda pl, f: f.sort(by, descending=descending, nulls_last=True, maintain_order=True),
        compare="bytes", peers_compare="ordered")


def keys_member(name, key, rows=5_000_000):
    """Distinct values of a text, and its groups with their counts."""
    file = File(rows, (f"key={key}", "x=i:100"))
    yield Member(f"keys_{name}_distinct", "keys", program(file, "| select key | distinct"), "keys", ("distinct",), file,
                 duckdb="SELECT DISTINCT key FROM {input}", polars=lambda pl, f: f.select("key").unique(maintain_order=False),
                 compare="bytes", peers_compare="sorted")
    yield Member(f"keys_{name}_count", "keys", program(file, "| group by key { rows = count() }"), "keys", ("count",), file,
                 duckdb="SELECT key, count(*) AS rows FROM {input} GROUP BY key",
                 polars=lambda pl, f: f.group_by("key").agg(rows=pl.len()), compare="bytes", peers_compare="sorted")


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
