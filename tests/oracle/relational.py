"""Sorts, groups, joins, distinct and aggregates over tables with nulls, judged by DuckDB."""
import datetime
import fractions
import math
import random
import statistics

import duckdb

from harness import case, expect, json_lines

FLOATS = [0.0, -0.0, 1.5, -1.5, math.nan, math.inf, -math.inf, 1e300, 5e-324]
WORDS = ["", "a", "b", "ab", "Z", "é", "ü", "😀", "\uffff", "a b", "null", "NULL"]


def rows_of(seed, count, null_share=0.2):
    r = random.Random(seed)

    def maybe(value):
        return None if r.random() < null_share else value

    return [{
        "rid": i,
        "s": maybe(r.choice(WORDS)),
        "x": maybe(r.choice(FLOATS)),
        "n": maybe(r.choice([-2**63, 2**63 - 1, -1, 0, 1, 7])),
        "d": maybe(f"20{r.randint(0, 30):02}-{r.randint(1, 12):02}-{r.randint(1, 28):02}"),
        "b": maybe(r.random() < 0.5),
        "v": r.randint(-1000, 1000) / 8,
    } for i in range(count)]


TYPE = "type Row = { rid: i64, s: str?, x: f64?, n: i64?, d: date?, b: bool?, v: f64 }\n"


def load(db, table, rows):
    db.execute(f"CREATE TABLE {table} (rid BIGINT, s VARCHAR, x DOUBLE, n BIGINT, d DATE, b BOOLEAN, v DOUBLE)")
    if rows:
        db.executemany(f"INSERT INTO {table} VALUES (?, ?, ?, ?, ?, ?, ?)", [list(row.values()) for row in rows])


def plain(rows):
    """For JSON: floats that it has no number for are strings."""
    return [{k: repr(v) if isinstance(v, float) and not math.isfinite(v) else v for k, v in row.items()}
            for row in rows]


def prepare(work, name, seed, count, db=None):
    rows = rows_of(seed, count)
    work.put(f"{name}.jsonl", json_lines(plain(rows)))
    db = db or duckdb.connect()
    load(db, name, rows)
    return db


@case
def sorts_with_nulls(work):
    db = prepare(work, "t", 1, 700)
    for key in ["s", "x", "n", "d", "b"]:
        for how, sql in [("", "ASC NULLS LAST"), ("desc", "DESC NULLS LAST"),
                         ("nulls first", "ASC NULLS FIRST"), ("desc nulls first", "DESC NULLS FIRST")]:
            got = work.rows(TYPE + f'read jsonl("t.jsonl") as Row | sort {key} {how}, v desc | select rid, {key} '
                            '| write jsonl("out.jsonl")')
            # As keys -0.0 is 0.0, for both; the value that is shown keeps its sign.
            expect(db.execute(f"SELECT rid, {key} FROM t ORDER BY {key} {sql}, v DESC, rid").fetchall(), got)


@case
def groups_with_nulls(work):
    db = prepare(work, "t", 2, 900)
    for keys in ["s", "n", "d", "b", "s, b", "d, s, n"]:
        got = work.rows(TYPE + f'''read jsonl("t.jsonl") as Row
            | group by {keys} {{ c = count(), cn = count(n), lo = min(d), hi = max(s), t = sum(v), fx = max(x),
                m = mean(v), u = count_distinct(s), f = first(v), l = last(v) }}
            | write jsonl("out.jsonl")''')
        expect(db.execute(f'''SELECT {keys}, count(*), count(n), min(d), max(s), sum(v), max(x), avg(v),
            count(DISTINCT s), first(v ORDER BY rid), last(v ORDER BY rid)
            FROM t GROUP BY {keys} ORDER BY min(rid)''').fetchall(), got)


@case
def windows_with_nulls(work):
    """Numbers, neighbours, running and framed figures; the rows come out as they came in."""
    for seed, count in (7, 0), (8, 1), (9, 600):
        db = prepare(work, f"t{seed}", seed, count)
        for keys, order, sql in [("s", "v desc, rid", "v DESC, rid"), ("b", "d, rid", "d NULLS LAST, rid"),
                                 ("b, s", "n desc nulls first, rid", "n DESC NULLS FIRST, rid")]:
            got = work.rows(TYPE + f'''read jsonl("t{seed}.jsonl") as Row
                | window by {keys} sort {order} {{
                    rn = row_number(), tile = ntile(3), lag1 = lag(s), lead2 = lead(v, 2), fi = first(rid), la = last(d),
                    third = nth(v, 3), run = sum(v), cnt = count(n), avg3 = mean(v) rows 2 back,
                    mid = sum(v) rows 2 back 1 ahead, lo = min(d) rows 3 back 3 ahead, hi = max(s) rows 4 ahead,
                    whole = sum(v) rows all, some = count() where v > 0.0, pick = first(v) rows 1 back,
                    end = last(s) rows 2 ahead, near = nth(v, 2) rows 1 back 1 ahead }}
                | select rid, rn, tile, lag1, lead2, fi, la, third, run, cnt, avg3, mid, lo, hi, whole, some, pick, end, near
                | write jsonl("out.jsonl")''')
            w = f"PARTITION BY {keys} ORDER BY {sql}"
            expect(db.execute(f'''SELECT rid, row_number() OVER w, ntile(3) OVER w, lag(s) OVER w, lead(v, 2) OVER w,
                first(rid) OVER a, last(d) OVER a, nth_value(v, 3) OVER a, sum(v) OVER r, count(n) OVER r,
                avg(v) OVER ({w} ROWS 2 PRECEDING), sum(v) OVER ({w} ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING),
                min(d) OVER ({w} ROWS BETWEEN 3 PRECEDING AND 3 FOLLOWING),
                max(s) OVER ({w} ROWS BETWEEN CURRENT ROW AND 4 FOLLOWING), sum(v) OVER a,
                count(*) FILTER (v > 0) OVER r, first(v) OVER ({w} ROWS 1 PRECEDING),
                last(s) OVER ({w} ROWS BETWEEN CURRENT ROW AND 2 FOLLOWING),
                nth_value(v, 2) OVER ({w} ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING)
                FROM t{seed}
                WINDOW w AS ({w}), r AS ({w} ROWS UNBOUNDED PRECEDING),
                    a AS ({w} ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
                ORDER BY rid''').fetchall(), got)


@case
def ranks_and_ranges(work):
    db = prepare(work, "t", 10, 500)
    for order, sql in ("d", "d NULLS LAST"), ("d desc", "d DESC NULLS LAST"), ("d nulls first", "d NULLS FIRST"):
        got = work.rows(TYPE + f'''read jsonl("t.jsonl") as Row
            | window by s sort {order} {{ r = rank(), e = dense_rank(), c = count() range 400d back,
                t = sum(v) range 1000d back 90d ahead, m = max(v) range 300d ahead,
                p = sum(v) range 13mo back, q = count() range 2y back 7mo ahead }}
            | select rid, r, e, c, t, m, p, q | write jsonl("out.jsonl")''')
        w = f"PARTITION BY s ORDER BY {sql}"

        def over(back, ahead, unit="DAY"):
            return (f"({w} RANGE BETWEEN INTERVAL {back} {unit} PRECEDING AND INTERVAL {ahead} {unit} FOLLOWING)")
        expect(db.execute(f'''SELECT rid, rank() OVER w, dense_rank() OVER w, count(*) OVER {over(400, 0)},
            sum(v) OVER {over(1000, 90)}, max(v) OVER {over(0, 300)},
            sum(v) OVER {over(13, 0, 'MONTH')}, count(*) OVER {over(24, 7, 'MONTH')} FROM t WINDOW w AS ({w}) ORDER BY rid''').fetchall(), got)


@case
def sessions_and_filled_gaps(work):
    """session over dates, numbers and times, with nulls and equal places; fill_forward of each type."""
    db = prepare(work, "t", 13, 700)
    db.execute("CREATE VIEW u AS SELECT *, timestamp '2020-01-01' + to_seconds(rid * 7919 % 86400) AS t, rid * 31 % 500 AS m FROM t")
    for keys, order, sql, far in [("s", "d, rid", "d NULLS LAST, rid", ("d", "400d", "d - lag(d) OVER w > 400")),
                                  ("b", "m, rid", "m, rid", ("m", "1", "m - lag(m) OVER w > 1")),
                                  ("b, s", "t", "t, rid", ("t", "1500s", "t - lag(t) OVER w > INTERVAL 1500 SECOND")),
                                  ("s", "t desc", "t DESC, rid", ("t", "10min", "lag(t) OVER w - t > INTERVAL 10 MINUTE"))]:
        what, gap, longer = far
        got = work.rows(TYPE + f'''read jsonl("t.jsonl") as Row
            | derive t = timestamp("2020-01-01T00:00:00Z") + 1s * (rid * 7919 % 86400), m = rid * 31 % 500
            | where {what} != null
            | window by {keys} sort {order} {{ number = session({what}, {gap}), fs = fill_forward(s), fx = fill_forward(n), fd = fill_forward(d),
                fb = fill_forward(b) }} | select rid, number, fs, fx, fd, fb | write jsonl("out.jsonl")''')
        w = f"(PARTITION BY {keys} ORDER BY {sql} ROWS UNBOUNDED PRECEDING)"
        filled = ", ".join(f"last_value({c} IGNORE NULLS) OVER {w}" for c in "sndb")
        expect(db.execute(f'''SELECT rid, 1 + sum(far) OVER {w}, {filled} FROM (SELECT *, ({longer})::INT::BIGINT AS f, coalesce(f, 0) AS far
            FROM u WHERE {what} IS NOT NULL WINDOW w AS (PARTITION BY {keys} ORDER BY {sql})) ORDER BY rid''').fetchall(), got)


@case
def top_and_keep(work):
    db = prepare(work, "t", 11, 400)
    for step, sql in [("top 3 by v per s", "row_number() OVER (PARTITION BY s ORDER BY v DESC, rid) <= 3"),
                      ("top 2 by n asc, v per b", "row_number() OVER (PARTITION BY b ORDER BY n NULLS LAST, v DESC, rid) <= 2"),
                      ("top 5 by x", "row_number() OVER (ORDER BY x DESC NULLS LAST, rid) <= 5"),
                      ("distinct s keep first by d", "row_number() OVER (PARTITION BY s ORDER BY d NULLS LAST, rid) = 1"),
                      ("distinct s, b keep last by n",
                       "row_number() OVER (PARTITION BY s, b ORDER BY n DESC NULLS LAST, rid DESC) = 1")]:
        got = work.rows(TYPE + f'read jsonl("t.jsonl") as Row | {step} | select rid | write jsonl("out.jsonl")')
        expect(db.execute(f"SELECT rid FROM t QUALIFY {sql} ORDER BY rid").fetchall(), got)


@case
def groups_by_floats(work):
    db = prepare(work, "t", 3, 400)
    got = work.rows(TYPE + 'read jsonl("t.jsonl") as Row | group by x { c = count() } | sort x | write jsonl("out.jsonl")')
    # A key that is -0.0 comes out as 0.0 here; DuckDB shows the first spelling.
    sql = "SELECT CASE WHEN x = 0 THEN 0.0::DOUBLE ELSE x END AS k, count(*) FROM t GROUP BY 1 ORDER BY k NULLS LAST"
    expect(db.execute(sql).fetchall(), got)


@case
def aggregates(work):
    db = prepare(work, "t", 4, 800)
    got = work.rows(TYPE + '''read jsonl("t.jsonl") as Row
        | group by s { va = variance(v), sd = stddev(v), me = median(v), q = quantile(v, 0.3), sk = skewness(v), ku = kurtosis(v), any = any(b ?? false),
            all = all(b ?? true), am = arg_min(rid, v), ax = arg_max(rid, v), c = collect(rid), sa = string_agg(str(rid), ", "), md = mode(d),
            w = count() where v > 0.0, sw = sum(v) where b ?? false }
        | write jsonl("out.jsonl")''')
    expected = db.execute('''SELECT s, var_samp(v), stddev_samp(v), median(v), quantile_cont(v, 0.3), skewness(v), kurtosis(v),
        bool_or(coalesce(b, false)), bool_and(coalesce(b, true)), arg_min(rid, v ORDER BY rid), arg_max(rid, v ORDER BY rid),
        list(rid ORDER BY rid), string_agg(rid::VARCHAR, ', ' ORDER BY rid), mode(d ORDER BY rid), count(*) FILTER (v > 0), coalesce(sum(v) FILTER (b), 0)
        FROM t GROUP BY s ORDER BY min(rid)''').fetchall()
    # Ours is exact before one rounding; DuckDB adds the differences up as it goes. Between two values
    # DuckDB's quantile takes another formula than docs/aggregates.md.
    expect([list(row[:1]) + list(row[3:4]) + list(row[7:]) for row in expected], [row[:1] + row[3:4] + row[7:] for row in got])
    for e, g in zip(expected, got):
        for k in (1, 2, 4):
            assert math.isclose(e[k], float(g[k]), rel_tol=1e-12), (e[k], g[k])
        # DuckDB subtracts sums of powers, which leaves it some digits less.
        for k in (5, 6):
            assert math.isclose(e[k], float(g[k]), rel_tol=1e-8, abs_tol=1e-8), (e[k], g[k])


@case
def sketches_keep_their_bounds(work):
    """Each group has other values; those of a sketch are within what docs/aggregates.md says."""
    r = random.Random(8)
    counts = [1, 2, 255, 256, 257, 400, 3000, 9000, 40000]
    rows = [(g, f"{g}-{r.randrange(count)}", r.choice((-1, 1)) * r.random() * 10 ** r.randint(-9, 9))
            for g, count in enumerate(counts) for _ in range(3 * count)]
    r.shuffle(rows)
    work.put("t.jsonl", json_lines([{"g": g, "s": s, "v": v} for g, s, v in rows]))
    places = (0, 0.01, 0.3, 0.5, 0.9, 1)
    got = work.rows('read jsonl("t.jsonl") as { g: i64, s: str, v: f64 } | group by g { n = approx_count_distinct(s), '
                    + ", ".join(f"q{k} = approx_quantile(v, {float(q)})" for k, q in enumerate(places)) +
                    ' } | sort g | write jsonl("out.jsonl")')
    for g, (_, n, *found) in enumerate(got):
        exact = len({s for k, s, _ in rows if k == g})
        # Five standard errors: the hashes are fixed, so that this never changes.
        assert int(n) == exact if exact <= 256 else abs(int(n) - exact) <= 5 * 1.04 / 64 * exact, (g, n, exact)
        values = sorted(v for k, _, v in rows if k == g)
        for q, v in zip(places, found):
            want = values[math.floor(q * (len(values) - 1))]
            assert abs(float(v) - want) <= abs(want) / 256, (g, q, v, want)
            assert float(v) == want or q not in (0, 1)


@case
def quantiles_of_times(work):
    """Of whole numbers, with exact fractions of Python and rounded once."""
    r = random.Random(9)
    epoch = datetime.datetime(1970, 1, 1)
    rows = [(f"20{r.randint(10, 40)}-0{r.randint(1, 9)}-{r.randint(10, 28)}", r.randint(-10 ** 9, 10 ** 9),
             epoch + datetime.timedelta(microseconds=r.randint(-10 ** 15, 2 * 10 ** 15))) for _ in range(3001)]
    for count in (1, 2, 300, 3001):
        work.put("t.jsonl", json_lines([{"d": d, "n": n, "t": f"{t.isoformat()}Z"} for d, n, t in rows[:count]]))
        [got] = work.rows('''read jsonl("t.jsonl") as { d: date, n: i64, t: timestamp }
            | derive n = 1us * n, s = timestamp_s(truncate(t, "second")) | aggregate { a = median(d), b = quantile(d, 0.3),
                c = microseconds(median(n) ?? 0s), d = microseconds(quantile(n, 0.9) ?? 0s), e = epoch_us(median(t) ?? from_epoch(0)),
                f = epoch_us(quantile(t, 0.07) ?? from_epoch(0)), g = epoch(quantile(s, 0.93) ?? timestamp_s(from_epoch(0))),
                near = epoch_us(approx_quantile(t, 0.2) ?? from_epoch(0)), near_day = approx_quantile(d, 0.2),
                near_time = microseconds(approx_quantile(n, 0.2) ?? 0s), none = median(t) where n > 10d, mean_t = epoch_us(mean(t) ?? from_epoch(0)),
                mean_s = epoch(mean(s) ?? timestamp_s(from_epoch(0))), mean_d = mean(d) }
            | write jsonl("out.jsonl")''')

        def at(values, q):
            h = q * (len(values) - 1)
            i = math.floor(h)
            return values[i] + (values[min(i + 1, len(values) - 1)] - values[i]) * fractions.Fraction(h - i)

        def away(x):
            return math.floor(abs(x) + fractions.Fraction(1, 2)) * (1 if x >= 0 else -1)

        days = sorted(datetime.date.fromisoformat(d).toordinal() for d, _, _ in rows[:count])
        spans = sorted(n for _, n, _ in rows[:count])
        times = sorted((t - epoch) // datetime.timedelta(microseconds=1) for _, _, t in rows[:count])
        seconds = sorted(t // 10 ** 6 for t in times)
        want = [datetime.date.fromordinal(math.floor(at(days, q))).isoformat() for q in (0.5, 0.3)]
        want += [away(at(spans, q)) for q in (0.5, 0.9)] + [math.floor(at(times, q)) for q in (0.5, 0.07)]
        means = [sum(times) // count, sum(seconds) // count, datetime.date.fromordinal(sum(days) // count).isoformat()]
        expect([want + [math.floor(at(seconds, 0.93)), None] + means], [got[:7] + got[10:]], about=lambda i: count)
        place = math.floor(0.2 * (count - 1))
        far = 0 if count <= 1001 else (times[-1] - times[0]) / 1000
        assert abs(int(got[7]) - times[place]) <= far, (count, got[7], times[place])
        # There are fewer days than a sketch keeps.
        assert count > 1001 or got[8] == datetime.date.fromordinal(days[place]).isoformat(), got
        assert abs(int(got[9]) - spans[place]) <= abs(spans[place]) / 256 + 1, (count, got[9], spans[place])


@case
def quantiles_of_times_by_duckdb(work):
    """DuckDB interpolates whole numbers of microseconds too; its quantile of dates is a timestamp."""
    db = prepare(work, "t", 12, 700)
    got = work.rows(TYPE + '''read jsonl("t.jsonl") as Row | where d != null | derive t = timestamp(d) + 1s * (rid * 7919 % 86400)
        | group by s { m = median(t), low = quantile(t, 0.0), high = quantile(t, 1.0) } | write jsonl("out.jsonl")''')
    sql = '''SELECT s, quantile_cont(t, 0.5), quantile_cont(t, 0.0), quantile_cont(t, 1.0) FROM (SELECT *, d::TIMESTAMP +
        to_seconds(rid * 7919 % 86400) AS t FROM t WHERE d IS NOT NULL) GROUP BY s ORDER BY min(rid)'''
    expect(db.execute(sql).fetchall(), got)


@case
def pivot_and_unpivot(work):
    db = prepare(work, "t", 11, 500)
    got = work.rows(TYPE + '''read jsonl("t.jsonl") as Row | pivot b by s { true = sum(v), false = max(rid) where v > 0.0 }
        | write jsonl("out.jsonl")''')
    expect(db.execute('''SELECT s, coalesce(sum(v) FILTER (b), 0), max(rid) FILTER (NOT b AND v > 0) FROM t
        GROUP BY s ORDER BY min(rid)''').fetchall(), got)
    got = work.rows(TYPE + '''read jsonl("t.jsonl") as Row | select rid, n, d, i = rid | unpivot (n, i) as (name, value)
        | write jsonl("out.jsonl")''')
    db.execute("CREATE VIEW wide AS SELECT rid, n, d, rid AS i FROM t")
    expect(db.execute('''SELECT rid, d, name, value FROM wide UNPIVOT INCLUDE NULLS (value FOR name IN (n, i))
        ORDER BY rid, name = 'i' ''').fetchall(), got)


@case
def variance_is_exact(work):
    r = random.Random(5)
    values = [1e9 + r.random() for _ in range(500)]
    work.put("t.jsonl", json_lines([{"v": v} for v in values]))
    [[got]] = work.rows('read jsonl("t.jsonl") as { v: f64 } | aggregate { v = variance(v) } | write jsonl("out.jsonl")')
    assert math.isclose(float(got), statistics.variance(values), rel_tol=1e-15), (got, statistics.variance(values))


@case
def pairs_of_columns(work):
    """A pair with a null is left out; of one pair the sample has no covariance, of a constant side there is no correlation."""
    r = random.Random(9)
    rows = [(g, r.choice((None, r.gauss(1e6, 3), r.gauss(0, 1))), r.choice((None, r.gauss(-5, 2))), r.randint(-99, 99))
            for g in range(40) for _ in range(1 + g * 3)]
    db = duckdb.connect()
    db.execute("CREATE TABLE t (g BIGINT, x DOUBLE, y DOUBLE, n BIGINT)")
    db.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
    work.put("t.jsonl", json_lines([dict(zip("gxyn", row)) for row in rows]))
    got = work.rows('''read jsonl("t.jsonl") as { g: i64, x: f64?, y: f64?, n: i64 }
        | group by g { r = corr(x, y), s = covar_samp(x, y), p = covar_pop(x, y), n = corr(n, g + n * n), c = corr(n, 0 * n + 3) }
        | sort g | write jsonl("out.jsonl")''')
    expected = db.execute('''SELECT g, corr(x, y), covar_samp(x, y), covar_pop(x, y), corr(n, g + n * n)
        FROM t GROUP BY g ORDER BY g''').fetchall()
    assert len(got) == len(expected) == 40
    for e, g in zip(expected, got):
        assert g[5] in (None, "null", ""), g
        for ours, theirs in zip(g[1:5], e[1:]):
            if theirs is None or math.isnan(theirs):
                assert ours in (None, "null", ""), (ours, theirs)
            else:
                assert math.isclose(float(ours), theirs, rel_tol=1e-6, abs_tol=1e-6), (g, e)


@case
def products_of_integers(work):
    r = random.Random(10)
    groups = [[r.choice((None, r.randint(-9, 9), 1)) for _ in range(r.randint(1, 18))] for _ in range(60)]
    work.put("t.jsonl", json_lines([{"g": i, "v": v} for i, g in enumerate(groups) for v in g]))
    got = work.rows('read jsonl("t.jsonl") as { g: i64, v: i64? } | group by g { p = product(v) } | write jsonl("out.jsonl")')
    expect([[i, math.prod(v for v in g if v is not None)] for i, g in enumerate(groups)], got)


@case
def sums_are_exact(work):
    r = random.Random(6)
    groups = [[math.ldexp(r.uniform(-1, 1), r.randint(-1000, 900)) for _ in range(60)] for _ in range(300)]
    for g in groups[:150]:
        g += [-x for x in g[:30]]
    work.put("t.jsonl", json_lines([{"g": i, "v": v} for i, g in enumerate(groups) for v in g]))
    got = work.rows('read jsonl("t.jsonl") as { g: i64, v: f64 } | group by g { t = sum(v), m = mean(v) } '
                    '| write jsonl("out.jsonl")')
    expect([[i, math.fsum(g), math.fsum(g) / len(g)] for i, g in enumerate(groups)], got)


@case
def distinct_rows(work):
    db = prepare(work, "t", 7, 600)
    got = work.rows(TYPE + 'read jsonl("t.jsonl") as Row | distinct s, b | select rid, s, b | write jsonl("out.jsonl")')
    expect(db.execute("SELECT min(rid) AS r, s, b FROM t GROUP BY s, b ORDER BY r").fetchall(), got)
    got = work.rows(TYPE + 'read jsonl("t.jsonl") as Row | select s, n, d | distinct | write jsonl("out.jsonl")')
    expect(db.execute("SELECT s, n, d FROM t GROUP BY s, n, d ORDER BY min(rid)").fetchall(), got)


def joins(work, key, counts, seed):
    db = prepare(work, "a", seed, counts[0])
    prepare(work, "b", seed + 1, counts[1], db)
    flows = TYPE + f'''let left = read jsonl("a.jsonl") as Row | select rid, k = {key}
        let right = read jsonl("b.jsonl") as Row | select rid2 = rid, k2 = {key}
        '''
    same = "a.k = b.k2"
    tables = f"(SELECT rid, {key} AS k FROM a) a %s (SELECT rid AS rid2, {key} AS k2 FROM b) b"
    for kind, sql in [("", "JOIN"), ("left", "LEFT JOIN"), ("right", "RIGHT JOIN"), ("full", "FULL JOIN")]:
        got = work.rows(flows + f'left | join {kind} right on k == k2 | write jsonl("out.jsonl")')
        expect(db.execute(f"SELECT * FROM {tables % sql} ON {same} ORDER BY rid NULLS LAST, rid2").fetchall(), got)
    for kind in ["semi", "anti"]:
        got = work.rows(flows + f'left | join {kind} right on k == k2 | write jsonl("out.jsonl")')
        expect(db.execute(f"SELECT * FROM {tables % (kind + ' JOIN')} ON {same} ORDER BY rid").fetchall(), got)


@case
def joins_on_texts(work):
    joins(work, "s", (120, 90), 10)


@case
def joins_on_integers(work):
    joins(work, "n", (80, 60), 12)


@case
def joins_on_floats(work):
    joins(work, "x", (80, 60), 14)


@case
def joins_on_dates(work):
    joins(work, "d", (3000, 500), 16)


@case
def joins_with_nothing(work):
    joins(work, "s", (0, 30), 18)
    joins(work, "s", (30, 0), 20)


@case
def join_on_two_keys(work):
    db = prepare(work, "a", 22, 300)
    prepare(work, "b", 23, 300, db)
    got = work.rows(TYPE + '''let right = read jsonl("b.jsonl") as Row | select s, b, rid2 = rid
        read jsonl("a.jsonl") as Row | select rid, s, b | join left right on s, b | write jsonl("out.jsonl")''')
    expect(db.execute("SELECT a.rid, a.s, a.b, b.rid FROM a LEFT JOIN b ON a.s = b.s AND a.b = b.b "
                      "ORDER BY a.rid, b.rid").fetchall(), got)


def conditional(work, key, condition, sql, counts, seed):
    """Joins of all kinds with a condition beside the key, or without a key."""
    db = prepare(work, "a", seed, counts[0])
    prepare(work, "b", seed + 1, counts[1], db)
    flows = TYPE + """let left = read jsonl("a.jsonl") as Row | select rid, k = s, n, v
        let right = read jsonl("b.jsonl") as Row | select rid2 = rid, k2 = s, n2 = n, v2 = v
        """
    left, right = "(SELECT rid, s AS k, n, v FROM a) a", "(SELECT rid AS rid2, s AS k2, n AS n2, v AS v2 FROM b) b"
    ours = f"k == k2 and {condition}" if key else condition
    theirs = f"a.k = b.k2 AND {sql}" if key else sql
    for kind, name in [("", "JOIN"), ("left", "LEFT JOIN"), ("right", "RIGHT JOIN"), ("full", "FULL JOIN")]:
        got = work.rows(flows + f'left | join {kind} right on {ours} | select rid, rid2 | write jsonl("out.jsonl")')
        expect(db.execute(f"SELECT rid, rid2 FROM {left} {name} {right} ON {theirs} "
                          "ORDER BY rid NULLS LAST, rid2").fetchall(), got)
    for kind, name in [("semi", "EXISTS"), ("anti", "NOT EXISTS")]:
        got = work.rows(flows + f'left | join {kind} right on {ours} | select rid | write jsonl("out.jsonl")')
        expect(db.execute(f"SELECT rid FROM {left} WHERE {name} (SELECT 1 FROM {right} WHERE {theirs}) "
                          "ORDER BY rid").fetchall(), got)


@case
def joins_with_conditions(work):
    conditional(work, True, "n <= n2", "n <= n2", (200, 150), 26)
    conditional(work, True, "(v > v2 or n == null)", "(v > v2 OR n IS NULL)", (200, 150), 28)
    conditional(work, True, "rid + rid2 == 60", "rid + rid2 = 60", (80, 80), 30)


@case
def joins_with_conditions_only(work):
    conditional(work, False, "v in v2..v2 + 3.0", "v BETWEEN v2 AND v2 + 3.0", (150, 120), 34)
    conditional(work, False, "rid > rid2 and k < k2", "rid > rid2 AND k < k2", (60, 60), 36)


@case
def joins_with_the_nearest(work):
    """asof before and after, with a key and without; equal places are judged by their place alone, not by the row."""
    db = prepare(work, "a", 38, 300)
    prepare(work, "b", 39, 200, db)
    flows = TYPE + """let left = read jsonl("a.jsonl") as Row | select rid, k = s, n
        let right = read jsonl("b.jsonl") as Row | select rid2 = rid, k2 = s, n2 = n
        """
    for key in (True, False):
        for sign, pick in ((">=", "DESC"), (">", "DESC"), ("<=", "ASC"), ("<", "ASC")):
            for kind, nearest in (("left", "LEFT JOIN"), ("", "JOIN")):
                for most in (None, 3):
                    on = ("k == k2 and " if key else "") + f"asof n {sign} n2" + (f" within {most}" if most else "")
                    got = work.rows(flows + f'left | join {kind} right on {on} | select rid, rid2 | write jsonl("out.jsonl")')
                    where = ("a.s = b.s AND " if key else "") + f"a.n {sign} b.n"
                    near = f"AND abs(a.n::HUGEINT - b.n::HUGEINT) <= {most}" if most else ""
                    expect(db.execute(f"""SELECT a.rid, m.rid FROM a {nearest} LATERAL (SELECT b.rid FROM b
                        WHERE {where} {near} ORDER BY b.n {pick}, b.rid DESC LIMIT 1) m ON true ORDER BY a.rid""").fetchall(), got)


@case
def comparisons_with_null(work):
    """A comparison with null is false here; != and not are exact opposites: SQL's IS DISTINCT FROM."""
    db = prepare(work, "t", 24, 300)
    got = work.rows(TYPE + '''read jsonl("t.jsonl") as Row
        | select eq = n == 7, ne = n != 7, less = n < 0, not_less = not (n < 0), isnull = s == null,
            inside = n in [0, 1], range = v in -5.0..5.0, nan = x > 1.0, nan2 = not (x > 1.0)
        | write jsonl("out.jsonl")''')
    expect(db.execute("""SELECT n IS NOT DISTINCT FROM 7, n IS DISTINCT FROM 7, coalesce(n < 0, false),
        NOT coalesce(n < 0, false), s IS NULL, coalesce(n IN (0, 1), false), v BETWEEN -5 AND 5,
        coalesce(x > 1 AND NOT isnan(x), false), NOT coalesce(x > 1 AND NOT isnan(x), false)
        FROM t ORDER BY rid""").fetchall(), got)


@case
def rows_without_nulls(work):
    """x ?? reject leaves the rows for which nothing that it names is null."""
    db = prepare(work, "t", 28, 300)
    got = work.rows(TYPE + """read jsonl("t.jsonl") as Row
        | select rid, a = n ?? reject, b = (v ?? reject) else 0.0, c = len(s ?? reject) | write jsonl("out.jsonl")
        rejects limit 1000""")
    expect(db.execute("SELECT rid, n, coalesce(v, 0), length(s) FROM t WHERE n IS NOT NULL AND s IS NOT NULL "
                      "ORDER BY rid").fetchall(), got)


@case
def narrowed_by_where(work):
    """What a condition needs is never null after it."""
    db = prepare(work, "t", 29, 300)
    got = work.rows(TYPE + """read jsonl("t.jsonl") as Row
        | where n > -10 and (s == "a" or not (s == null)) | where b ?? false
        | select rid, x = n // 2, l = len(s), both = b and n > 0 | write jsonl("out.jsonl")""")
    expect(db.execute("SELECT rid, n // 2, length(s), b AND n > 0 FROM t WHERE n > -10 AND s IS NOT NULL AND b "
                      "ORDER BY rid").fetchall(), got)


@case
def limits_and_unions(work):
    db = prepare(work, "a", 25, 50)
    prepare(work, "b", 26, 50, db)
    got = work.rows(TYPE + '''let b = read jsonl("b.jsonl") as Row
        read jsonl("a.jsonl") as Row | union b | sort v | skip 13 | limit 20 | select v, s | write jsonl("out.jsonl")''')
    expect(db.execute("SELECT v, s FROM (SELECT 0 AS t, * FROM a UNION ALL SELECT 1, * FROM b) "
                      "ORDER BY v, t, rid LIMIT 20 OFFSET 13").fetchall(), got)


@case
def decimals(work):
    r = random.Random(27)
    rows = [(r.randint(-10**9, 10**9), r.randint(-10**5, 10**5)) for _ in range(1000)]

    def text(n, s):
        return f"{'-' if n < 0 else ''}{abs(n) // 10**s}.{abs(n) % 10**s:0{s}}"

    path = work.put("t.csv", "a,b\n" + "".join(f"{text(a, 4)},{text(b, 1)}\n" for a, b in rows))
    got = work.rows('''read csv("t.csv") as { a: decimal(12, 4), b: decimal(8, 1) }
        | select s = a + b, d = a - b, p = a * b, q = f64(a), n = -a, big = a > b, ab = abs(a), r = round(a, 2)
        | write jsonl("out.jsonl")''')
    db = duckdb.connect()
    expect(db.execute(f"""SELECT a + b, a - b, a * b, a::DOUBLE, -a, a > b, abs(a), round(a, 2)::DECIMAL(12,4)
        FROM read_csv('{path}', columns={{'a': 'DECIMAL(12,4)', 'b': 'DECIMAL(8,1)'}}, header=true)""").fetchall(), got)
    got = work.rows('''read csv("t.csv") as { a: decimal(12, 4), b: decimal(8, 1) }
        | aggregate { s = sum(a * b), m = mean(a), lo = min(a), hi = max(b) } | write jsonl("out.jsonl")''')
    expect(db.execute(f"""SELECT sum(a * b), avg(a), min(a), max(b)
        FROM read_csv('{path}', columns={{'a': 'DECIMAL(12,4)', 'b': 'DECIMAL(8,1)'}}, header=true)""").fetchall(), got, 1)
