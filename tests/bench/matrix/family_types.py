"""Values of each type: sums, extremes and filters of a column of CSV, by ten groups."""

from member import File, Member, program

ROWS = 3_000_000
# Name: the column as columns.c takes it, its kind for types.c, digits of its fraction, and what about half of the values are above.
KINDS = {
    "int_9": ("i:0:9", "i", 0, "500000"),
    "int_18": ("i:0:18", "i", 0, "100000000000000"),
    "decimal_9": ("d:0:9", "d", 2, "50000.00"),
    "decimal_15": ("d:0:15", "d", 2, "5000000000.00"),
    "decimal_18": ("d:0:18", "d", 2, "100000000000.00"),
    "decimal_30": ("d:0:30", "D", 2, "100000000000000000000.00"),
    "float_3": ("f:0:3", "f", 1, "50.0"),
    "float_6": ("f:0:6", "f", 4, "50.0"),
    "float_9": ("f:0:9", "f", 7, "50.0"),
    "float_12": ("f:0:12", "f", 10, "50.0"),
    "float_15": ("f:0:15", "f", 13, "50.0"),
    "float_17": ("f:0:17", "f", 15, "50.0"),
    "float_exponent": ("f:0:6:1", "e", 5, "5.0"),
    "int_9_null": ("i:0:9:0:20", "i", 0, "500000"),
    "decimal_15_null": ("d:0:15:0:20", "d", 2, "5000000000.00"),
    "float_6_null": ("f:0:6:0:20", "f", 4, "50.0"),
}
TIMES = {
    "time": ("w:0", "w", 0),
    "time_fraction": ("w:0:6", "w", 6),
    "time_offset": ("w:0:3:1", "o", 3),
    "time_null": ("w:0:3:0:20", "w", 3),
}
MOMENT = "2019-06-01 00:00:00"
MOMENT_SECONDS = 1559347200


def file_of(column):
    return File(ROWS, ("g=i:20", f"v={column}", "t=t:0:12"))


def sums(name, column, kind, digits):
    file = file_of(column)
    return Member(f"types_sum_{name}", "types", program(file, "| group by g { n = count(), s = sum(v) }\n| sort g"), "types",
                  (kind, "sum", str(digits)), file,
                  duckdb="SELECT g, count(*) AS n, sum(v) AS s FROM {input} GROUP BY g ORDER BY g",
                  polars=lambda pl, f: f.group_by("g").agg(n=pl.len(), s=pl.col("v").sum()).sort("g"),
                  numba=("numbers", "sum", digits) if kind in "idf" else ())


def extremes(name, column, kind, digits):
    file = file_of(column)
    time = kind in "wo"
    low, high = ("epoch_us(min(v))", "epoch_us(max(v))") if time else ("min(v)", "max(v)")
    if "?" in file.schema and time:
        low, high = "epoch_us(min(v) ?? from_epoch(0))", "epoch_us(max(v) ?? from_epoch(0))"
    elif time:
        low, high = "epoch_us(min(v) ?? from_epoch(0))", "epoch_us(max(v) ?? from_epoch(0))"

    def polars(pl, f):
        both = f.group_by("g").agg(low=pl.col("v").min(), high=pl.col("v").max()).sort("g")
        return both.with_columns(pl.col("low", "high").dt.epoch("us")) if time else both
    sql = "SELECT g, epoch_us(min(v)) AS low, epoch_us(max(v))" if time else "SELECT g, min(v) AS low, max(v)"
    return Member(f"types_extremes_{name}", "types",
                  program(file, f"| group by g {{ low = {low}, high = {high} }}\n| sort g"), "types", (kind, "extremes", str(digits)),
                  file, duckdb=f"{sql} AS high FROM {{input}} GROUP BY g ORDER BY g", polars=polars,
                  numba=("numbers", "extremes", digits) if kind in "idf" else ())


def filters(name, column, kind, digits, least):
    file = file_of(column)
    null = f" ?? {'0' if kind == 'i' else '0.0'}" if "?" in file.schema else ""
    steps = f"| where (v{null}) > {least}\n| aggregate {{ n = count(), s = sum(g) }}"
    return Member(f"types_filter_{name}", "types", program(file, steps), "types", (kind, "filter", str(digits), least), file,
                  duckdb=f"SELECT count(*) AS n, sum(g) AS s FROM {{input}} WHERE v > {least}",
                  polars=lambda pl, f: f.filter(pl.col("v") > number(pl, kind, least)).select(n=pl.len(), s=pl.col("g").sum()),
                  numba=("numbers", "filter", digits, float(least)) if kind in "idf" else ())


def number(pl, kind, text):
    """A constant for Polars, of the type of the column."""
    from decimal import Decimal
    if kind == "D":
        return pl.lit(Decimal(text), dtype=pl.Decimal(38, 2))
    return pl.lit(Decimal(text)) if kind == "d" else float(text) if "." in text else int(text)


def filter_times(name, column, kind, digits):
    file = file_of(column)
    null = ' ?? from_epoch(0)' if "?" in file.schema else ""
    import datetime
    steps = f'| where (v{null}) > timestamp("{MOMENT}Z")\n| aggregate {{ n = count(), s = sum(g) }}'
    return Member(f"types_filter_{name}", "types", program(file, steps), "types", (kind, "filter", str(digits), str(MOMENT_SECONDS)),
                  file, duckdb=f"SELECT count(*) AS n, sum(g) AS s FROM {{input}} WHERE v > TIMESTAMP '{MOMENT}'",
                  polars=lambda pl, f: f.filter(pl.col("v") > datetime.datetime.fromisoformat(MOMENT)).select(
                      n=pl.len(), s=pl.col("g").sum()))


MEMBERS = (
    *(sums(name, *of[:3]) for name, of in KINDS.items() if name != "int_18"),  # Their sum is no i64.
    *(extremes(name, *KINDS[name][:3]) for name in ("int_9", "decimal_9", "decimal_18", "decimal_30", "float_6", "float_17", "int_18",
                                                  "float_exponent", "int_9_null")),
    *(filters(name, *KINDS[name]) for name in ("int_9", "decimal_15", "decimal_30", "float_6", "float_exponent", "float_6_null")),
    *(extremes(name, *of) for name, of in TIMES.items()),
    *(filter_times(name, *TIMES[name]) for name in ("time", "time_fraction", "time_offset", "time_null")),
)
