"""Groups by keys of few to many values, each aggregate, the latest row of each, and joins."""

from member import File, Member, program

ROWS = 2_000_000
X, Y = "x=i:0:9", "y=f:0:6"
# Name: the column of the key, its kind for groups.c.
KEYS = {
    "int_20": ("i:20", "int"), "int_10k": ("i:10000", "int"), "int_1m": ("i:1000000", "int"),
    "text_10": ("t:10:8", "text"), "text_10k": ("t:10000:12", "text"), "text_1m": ("t:1000000:12", "text"),
    "long_10k": ("t:10000:32:10", "long"),
}
# Name: the aggregates here, in DuckDB and in Polars.
TASKS = {
    "count": ("", "", lambda pl: {}),
    "sum": ("s = sum(x)", "sum(x) AS s", lambda pl: {"s": pl.col("x").sum()}),
    "mean": ("m = mean(y)", "avg(y) AS m", lambda pl: {"m": pl.col("y").mean()}),
    "extremes": ("low = min(x), high = max(x)", "min(x) AS low, max(x) AS high",
                 lambda pl: {"low": pl.col("x").min(), "high": pl.col("x").max()}),
    "stddev": ("d = stddev(y)", "stddev_samp(y) AS d", lambda pl: {"d": pl.col("y").std()}),
    "corr": ("c = corr(f64(x), y)", "corr(x, y) AS c", lambda pl: {"c": pl.corr("x", "y")}),
    "first_last": ("f = first(y), l = last(x)", "first(y) AS f, last(x) AS l",
                   lambda pl: {"f": pl.col("y").first(), "l": pl.col("x").last()}),
    "median": ("m = median(y)", "median(y) AS m", lambda pl: {"m": pl.col("y").median()}),
    "distinct": ("d = count_distinct(x)", "count(DISTINCT x) AS d", lambda pl: {"d": pl.col("x").n_unique()}),
}


def member(name, file, kind, task, keys=("k",)):
    here, sql, polars = TASKS[task]
    by = ", ".join(keys)
    return Member(name, "groups", program(file, f"| group by {by} {{ n = count(){', ' + here if here else ''} }}"), "groups", (kind, task),
                  file, duckdb=f"SELECT {by}, count(*) AS n{', ' + sql if sql else ''} FROM {{input}} GROUP BY {by}",
                  polars=lambda pl, f: f.group_by(*keys, maintain_order=False).agg(n=pl.len(), **polars(pl)),
                  compare="sorted" if len(keys) == 1 else "bag")


def by_key(name, task):
    column, kind = KEYS[name]
    return member(f"groups_{name}_{task}", File(ROWS, (f"k={column}", X, Y)), kind, task)


def latest(name):
    """The row of each key with the greatest number."""
    column, kind = KEYS[name]
    file = File(ROWS, (f"k={column}", X, Y))
    return Member(f"groups_{name}_latest", "groups", program(file, "| distinct k keep last by x"), "groups", (kind, "latest"), file,
                  duckdb="SELECT k, x, y FROM {input} QUALIFY row_number() OVER (PARTITION BY k ORDER BY x DESC) = 1",
                  polars=lambda pl, f: f.sort("x").group_by("k", maintain_order=False).last(), compare="sorted")


def by_both():
    return member("groups_both_sum", File(ROWS, ("k=t:100:8", "j=i:50", X, Y)), "both", "sum", ("k", "j"))


# Name: left rows find one of so many right rows; the column of the key.
RIGHTS = {"int_260": (260, "i:260"), "int_100k": (100_000, "i:100000"), "text_10k": (10_000, "t:10000:12")}


def join_member(kind, name):
    count, key = RIGHTS[name]
    left = File(ROWS, (f"k={key}", "x=i:10000000", "t=t:0:12"))
    # Of an inner join every row finds one; of others half of them do.
    right = File(count if kind == "inner" else count // 2, (f"k={key.replace(':', 'n:', 1)}", "g=i:20"), scales=False)
    totals = kind in ("semi", "anti")
    steps = {"inner": "join", "left": "join left", "semi": "join semi", "anti": "join anti"}[kind]
    last = "aggregate { n = count(), s = sum(x) }" if totals else "group by g { n = count(), s = sum(x) }\n| sort g"
    sql = {"inner": "{input} l JOIN r USING (k)", "left": "{input} l LEFT JOIN r USING (k)",
           "semi": "{input} l SEMI JOIN r USING (k)", "anti": "{input} l ANTI JOIN r USING (k)"}[kind]
    tail = "" if totals else " GROUP BY g ORDER BY g NULLS LAST"
    how = {"inner": "inner", "left": "left", "semi": "semi", "anti": "anti"}[kind]

    def polars(pl, f, r):
        both = f.join(r, on="k", how=how)
        if totals:
            return both.select(n=pl.len(), s=pl.col("x").sum())
        return both.group_by("g").agg(n=pl.len(), s=pl.col("x").sum()).sort("g", nulls_last=True)
    return Member(f"join_{kind}_{name}", "join", program(left, f"| {steps} r on k\n| {last}", right), "join", (kind,), left, right,
                  duckdb=f"WITH r AS (SELECT * FROM {{right}}) SELECT {'' if totals else 'g, '}count(*) AS n, sum(x) AS s FROM {sql}{tail}",
                  polars=polars)


MEMBERS = (
    *(by_key("text_10", task) for task in TASKS),
    *(by_key(name, "sum") for name in ("int_20", "int_10k", "int_1m", "text_10k", "text_1m", "long_10k")),
    *(by_key("text_10k", task) for task in ("stddev", "first_last", "extremes")), by_both(),
    *(latest(name) for name in ("text_10", "text_10k", "text_1m")),
    *(join_member("inner", name) for name in RIGHTS),
    *(join_member(kind, "int_100k") for kind in ("left", "semi", "anti")), join_member("left", "text_10k"),
)
