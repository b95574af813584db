"""Functions over lists and maps and their lambdas, judged by DuckDB."""
import random

import duckdb

from harness import case, expect, json_lines

WORDS = ["", "a", "b", "ab", "Zoë", "日本", "x y", "-", "12"]
TYPE = "{ k: i64, xs: [i64], ns: [i64?], fs: [f64], ss: [str], ps: [{ a: i64, b: str }], xss: [[i64]], " \
       "m: {str: i64}, mn: {str: i64?}?, ms: {str: { a: i64, b: str }} }"
READ = f'read jsonl("t.jsonl") as {TYPE} | select '
WRITE = ' | write jsonl("out.jsonl")'


def prepare(work, seed, count=1500):
    r = random.Random(seed)

    def some(make, most=6):
        return [make() for _ in range(r.choice((0, 1, 2, 3, most)))]

    rows = [{"k": r.randint(-5, 9), "xs": some(lambda: r.randint(-20, 20)),
             "ns": some(lambda: None if r.random() < 0.3 else r.randint(-9, 9)),
             "fs": some(lambda: r.randint(-64, 64) / 8), "ss": some(lambda: r.choice(WORDS)),
             "ps": some(lambda: {"a": r.randint(-9, 9), "b": r.choice(WORDS)}),
             "xss": some(lambda: some(lambda: r.randint(-9, 9), 3), 4),
             "m": dict((r.choice(WORDS), r.randint(-9, 9)) for _ in range(r.choice((0, 1, 2, 5, 9)))),
             "mn": None if r.random() < 0.2 else {w: None if r.random() < 0.3 else r.randint(-9, 9) for w in WORDS[:r.randint(0, 5)]},
             "ms": {w: {"a": r.randint(-9, 9), "b": w + "!"} for w in r.sample(WORDS, r.randint(0, 4))}} for _ in range(count)]
    file = work.put("t.jsonl", json_lines([{"rid": i, **row} for i, row in enumerate(rows)]))
    db = duckdb.connect()
    db.execute("CREATE TABLE t (rid BIGINT, k BIGINT, xs BIGINT[], ns BIGINT[], fs DOUBLE[], ss VARCHAR[], "
               "ps STRUCT(a BIGINT, b VARCHAR)[], xss BIGINT[][], m MAP(VARCHAR, BIGINT), mn MAP(VARCHAR, BIGINT), "
               "ms MAP(VARCHAR, STRUCT(a BIGINT, b VARCHAR)))")
    columns = ", ".join(f"{name}: '{kind}'" for name, kind, *_ in db.execute("DESCRIBE t").fetchall())
    db.execute(f"INSERT INTO t SELECT * FROM read_json(?, format = 'newline_delimited', columns = {{{columns}}})", [str(file)])
    return rows, db


def compare(work, seed, pairs):
    """Each of our expressions gives what DuckDB's gives."""
    rows, db = prepare(work, seed)
    ours = ", ".join(f"c{i} = {text}" for i, (text, _) in enumerate(pairs))
    theirs = ", ".join(sql for _, sql in pairs)
    expect(db.execute(f"SELECT {theirs} FROM t ORDER BY rid").fetchall(), work.rows(READ + ours + WRITE),
           about=lambda i: rows[i])


@case
def maps_and_filters_by_duckdb(work):
    compare(work, 1, [
        ("map(xs, x -> x * k + 1)", "list_transform(xs, lambda x: x * k + 1)"),
        ("map(fs, x -> x / 4.0 - f64(k))", "list_transform(fs, lambda x: x / 4 - k)"),
        ("map(ss, s -> s + \"!\")", "list_transform(ss, lambda s: s || '!')"),
        ("map(ss, s -> len(s))", "list_transform(ss, lambda s: length(s))"),
        ("map(ns, n -> n ?? 0)", "list_transform(ns, lambda n: coalesce(n, 0))"),
        ("map(ns, n -> if n == null then 1 else null)", "list_transform(ns, lambda n: CASE WHEN n IS NULL THEN 1 END)"),
        ("map(ps, p -> p.a)", "list_transform(ps, lambda p: p.a)"),
        ("map(xs, x -> { x: x, k: k })", "list_transform(xs, lambda x: {'x': x, 'k': k})"),
        ("filter(xs, x -> x > k)", "list_filter(xs, lambda x: x > k)"),
        ("filter(ns, n -> n != null)", "list_filter(ns, lambda n: n IS NOT NULL)"),
        ("filter(ns, n -> n > 0)", "list_filter(ns, lambda n: n > 0)"),
        ("filter(ss, s -> len(s) >= 2)", "list_filter(ss, lambda s: length(s) >= 2)"),
        ("filter(ps, p -> p.a > 0 or p.b == \"a\")", "list_filter(ps, lambda p: p.a > 0 OR p.b = 'a')"),
        ("filter(xss, l -> len(l) > 1)", "list_filter(xss, lambda l: len(l) > 1)"),
        ("map(filter(xs, x -> x % 2 == 0), x -> x // 2)", "list_transform(list_filter(xs, lambda x: x % 2 = 0), lambda x: x // 2)"),
    ])


@case
def quantifiers_and_reductions_by_duckdb(work):
    compare(work, 2, [
        ("any(xs, x -> x > k)", "coalesce(list_bool_or(list_transform(xs, lambda x: x > k)), false)"),
        ("all(xs, x -> x > k)", "coalesce(list_bool_and(list_transform(xs, lambda x: x > k)), true)"),
        ("any(ns, n -> n == null)", "coalesce(list_bool_or(list_transform(ns, lambda n: n IS NULL)), false)"),
        ("all(ss, s -> contains(s, \"a\"))", "coalesce(list_bool_and(list_transform(ss, lambda s: contains(s, 'a'))), true)"),
        ("reduce(xs, k, (acc, x) -> acc * 2 + x)", "list_reduce(xs, lambda acc, x: acc * 2 + x, k)"),
        ("reduce(fs, 0.5, (acc, x) -> acc / 2.0 + x)", "list_reduce(fs, lambda acc, x: acc / 2 + x, 0.5::DOUBLE)"),
        ("reduce(ss, \">\", (acc, s) -> acc + s)", "list_reduce(ss, lambda acc, s: acc || s, '>')"),
        ("reduce(ns, 0, (acc, n) -> acc + (n ?? 1))", "list_reduce(ns, lambda acc, n: acc + coalesce(n, 1), 0::BIGINT)"),
    ])


@case
def lists_of_lists_by_duckdb(work):
    compare(work, 3, [
        ("flatten(xss)", "flatten(xss)"),
        ("map(xss, l -> map(l, x -> x * len(l) + k))", "list_transform(xss, lambda l: list_transform(l, lambda x: x * len(l) + k))"),
        ("map(xss, l -> reduce(l, 0, (acc, x) -> acc + x))", "list_transform(xss, lambda l: list_reduce(l, lambda acc, x: acc + x, 0::BIGINT))"),
        ("map(xs, x -> filter(xs, y -> y < x))", "list_transform(xs, lambda x: list_filter(xs, lambda y: y < x))"),
        ("filter(xss, l -> any(l, x -> x == k))", "list_filter(xss, lambda l: list_contains(l, k))"),
        ("flatten(map(ps, p -> map(xs, x -> p.a * x)))", "flatten(list_transform(ps, lambda p: list_transform(xs, lambda x: p.a * x)))"),
        ("distinct(flatten(xss)) == distinct(flatten(map(xss, l -> l)))", "true"),
        ("argsort(xs)", "list_transform(list_grade_up(xs), lambda i: i - 1)"),
        ("sort(ps, p -> p.a)", "list_transform(list_sort(list_transform(ps, lambda p, i: {'a': p.a, 'i': i, 'p': p})), lambda s: s.p)"),
        ("sort_desc(ps, p -> p.a)", "list_transform(list_sort(list_transform(ps, lambda p, i: {'a': -p.a, 'i': i, 'p': p})), lambda s: s.p)"),
        ("sort(ss, s -> { n: len(s), s: s })", "list_transform(list_sort(list_transform(ss, lambda s: {'n': length(s), 's': s})), lambda t: t.s)"),
        ("distinct(ps, p -> p.b)", "list_filter(ps, lambda p, i: list_position(list_transform(ps, lambda q: q.b), p.b) = i)"),
        ("argdistinct(xs)", "list_transform(list_filter(list_transform(xs, lambda x, i: {'x': x, 'i': i}), "
         "lambda s: list_position(xs, s.x) = s.i), lambda s: s.i - 1)"),
        ("sort(ns, n -> n)", "list_sort(ns, 'ASC', 'NULLS LAST')"),
        ("map(xss, l -> sort_desc(l, x -> x * k))", "list_transform(xss, lambda l: CASE WHEN k = 0 THEN l WHEN k > 0 THEN list_reverse_sort(l) "
         "ELSE list_sort(l) END)"),
        ("sort(ns)", "list_sort(ns, 'ASC', 'NULLS LAST')"),
        ("sort_desc(flatten(xss))", "list_reverse_sort(flatten(xss))"),
    ])


@case
def maps_by_duckdb(work):
    compare(work, 5, [
        ("len(m)", "cardinality(m)"),
        ("keys(m)", "map_keys(m)"),
        ("values(mn ?? {})", "coalesce(map_values(mn), [])"),
        ("get(m, \"a\")", "m['a']"),
        ("get(m, \"\")", "m['']"),
        ("get(m, \"日本\") ?? k", "coalesce(m['日本'], k)"),
        ("get(mn ?? {}, \"ab\")", "mn['ab']"),
        ("contains(m, \"x y\")", "map_contains(m, 'x y')"),
        ("contains(mn ?? {}, \"b\")", "coalesce(map_contains(mn, 'b'), false)"),
        ("entries(m)", "map_entries(m)"),
        ("map(entries(m), e -> e.key + str(e.value))", "list_transform(map_entries(m), lambda e: e.key || e.value::VARCHAR)"),
        ("len(filter(entries(m), e -> e.value > k))", "len(list_filter(map_entries(m), lambda e: e.value > k))"),
        ("map(entries(ms), e -> e.value.a)", "list_transform(map_values(ms), lambda v: v.a)"),
        ("keys(map_of(filter(entries(ms), e -> e.value.a > 0)))",
         "list_transform(list_filter(map_entries(ms), lambda e: e.value.a > 0), lambda e: e.key)"),
        ("entries(map_of(map(distinct(ss), s -> { key: s, value: len(s) })))",
         "list_transform(list_filter(ss, lambda s, i: list_position(ss, s) = i), lambda s: {'key': s, 'value': length(s)})"),
        ("str(m)", "to_json(m)"),
        ("str(mn ?? {})", "coalesce(to_json(mn), '{}')"),
        ("str(ms)", "to_json(ms)"),
    ])


@case
def paths_with_wildcards_by_duckdb(work):
    compare(work, 7, [
        ("json_all_i64(to_json(ps), \"[*].a\")", "json_extract(to_json(ps), '$[*].a')::BIGINT[]"),
        ("json_all_str(to_json(ms), \"*.b\")", "json_extract_string(to_json(ms), '$.*.b')"),
        ("json_all_i64(to_json(ns), \"$[*]\")", "list_filter(ns, lambda n: n IS NOT NULL)"),
        ("json_all_i64(to_json(xss), \"[*][-1]\")", "json_extract(to_json(xss), '$[*][#-1]')::BIGINT[]"),
        ("json_all_i64(to_json(xss), \"[*][*]\")", "flatten(xss)"),
        ("json_all_f64(to_json(fs), \"[*]\")", "fs"),
        ("map(json_all(to_json(ms), \"*\"), x -> str(x))", "list_transform(json_extract(to_json(ms), '$.*'), lambda x: x::VARCHAR)"),
    ])
