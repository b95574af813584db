"""The work of the cases as DuckDB does it: with the same threads, the same memory_limit and the disk, into a CSV with the same bytes.

usage: peer.py CASE ROWS BYTES FOLDER     By the interpreter that has duckdb. Exit code 3: it ran out of memory, standard output says why.

`hash` of sbc is no function of DuckDB. So both sides compute PEER_HASH in its place.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PYTHON = ROOT / "build/bench/venv/bin/python"
OUT_OF_MEMORY = 3
PEER_HASH = "(({}) * 2654435761 % 4294967296)"

RIGHT = "(SELECT i, H(i) % 1000003 AS k, 'right row ' || i AS text FROM range({rows}) r(i))"
LEFT = "(SELECT i, H(i + 7) % 1000003 AS k FROM range(50000) l(i))"
HOT = ("(SELECT l.i AS i, l.k AS k, r.text AS text, r.i AS right_i FROM (SELECT i, i AS k FROM range(3) l(i)) l JOIN "
       "(SELECT i, CASE WHEN i % 10 = 0 THEN i ELSE 1 END AS k, 'right row ' || i AS text FROM range({rows}) r(i)) r ON l.k = r.k)")
SORTED = "(SELECT i, H(i) AS key, i % 50 AS kind, 'row ' || i || ' of many' AS text FROM range({rows}) t(i))"

# Columns and rows come in the order in which they come out of the case's program (run.py).
QUERIES = {
    "sort": "SELECT i, H(i) AS key, 'row ' || i || ' of many' AS text FROM range({rows}) t(i) ORDER BY key, i",
    "distinct": "SELECT count(*) AS n, max(text) AS last FROM (SELECT DISTINCT 'text number ' || H(i) % 100000007 AS text FROM range({rows}) t(i))",
    "groups": "SELECT key, twin, count(*) AS n, min(i) AS first, max(key) AS text FROM (SELECT i, 'key ' || H(i // 2) % 1000003 || ' of a group' "
              "AS key, i // 2 AS twin FROM range({rows}) t(i)) GROUP BY key, twin HAVING count(*) > 1 ORDER BY first",
    "join": f"SELECT l.i AS i, l.k AS k, r.text AS text FROM {LEFT} l LEFT JOIN {RIGHT} r ON l.k = r.k ORDER BY l.i, r.i",
    "full_join": f"SELECT l.i AS i, coalesce(l.k, r.k) AS k, r.text AS text FROM {LEFT} l FULL JOIN {RIGHT} r ON l.k = r.k "
                 "ORDER BY l.i NULLS LAST, r.i",
    "hot_key": f"SELECT count(*) AS n, max(text) AS last, min(text) AS first FROM {HOT}",
    "hot_rows": f"SELECT i, k, text FROM {HOT} ORDER BY i, right_i",
    "window": "SELECT i, key, text, row_number() OVER w AS number, lag(text) OVER w AS before, sum(i) OVER w AS total, max(i) OVER (PARTITION BY key "
              "ORDER BY i ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING) AS near FROM (SELECT i, H(i) % 100003 AS key, 'row ' || i || ' of many' AS text "
              "FROM range({rows}) t(i)) WINDOW w AS (PARTITION BY key ORDER BY i ROWS UNBOUNDED PRECEDING) ORDER BY i",
    "hot_window": "SELECT * FROM (SELECT i, key, text, place, row_number() OVER w AS number, count(*) OVER (PARTITION BY key) AS rest, "
                  "lag(text, 3) OVER w AS before FROM (SELECT i, CASE WHEN i % 10 = 0 THEN i ELSE 1 END AS key, 'row ' || i || ' of many' AS text, "
                  "H(i) AS place FROM range({rows}) t(i)) WINDOW w AS (PARTITION BY key ORDER BY place, i)) WHERE number % 3 = 0 ORDER BY i",
    "asof": "SELECT l.i AS i, l.k AS k, l.t AS t, r.at AS at, r.text AS text FROM (SELECT i, H(i + 7) % 1009 AS k, i * 7919 % ({rows} * 2) AS t "
            "FROM range(10000) l(i)) l ASOF LEFT JOIN (SELECT H(i) % 1009 AS k, i * 2 AS at, 'right row ' || i AS text FROM range({rows}) r(i)) r "
            "ON l.k = r.k AND l.t >= r.at ORDER BY l.i",
    "top": "SELECT * FROM (SELECT i, H(i) % 100003 AS key, H(i + 3) AS place, 'row ' || i || ' of many' AS text FROM range({rows}) t(i)) "
           "QUALIFY row_number() OVER (PARTITION BY key ORDER BY place DESC, i) <= 3 ORDER BY i",
    "limit": f"SELECT s.i AS i, key, s.kind AS kind, text, n FROM (SELECT * FROM {SORTED} ORDER BY key, i OFFSET 10) s "
             f"JOIN (SELECT kind, count(*) AS n FROM {SORTED} GROUP BY kind) g ON s.kind = g.kind ORDER BY key, s.i LIMIT {{rows}} - 100",
}


def replace_calls(text, name):
    """Puts PEER_HASH in place of the calls of a function of one argument."""
    while found := re.search(rf"\b{name}\(", text):
        depth, end = 1, found.end()
        while depth:
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        text = text[:found.start()] + PEER_HASH.format(text[found.end():end - 1]) + text[end:]
    return text


def main():
    import duckdb
    case, rows, memory, folder = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    query = replace_calls(QUERIES[case].format(rows=rows), "H")
    database = duckdb.connect(config={"threads": 2, "memory_limit": f"{memory}B", "temp_directory": f"{folder}/peer"})
    try:
        database.execute(f"COPY ({query}) TO '{folder}/peer.csv' (HEADER)")
    except duckdb.OutOfMemoryException as error:
        print(str(error).splitlines()[0])
        sys.exit(OUT_OF_MEMORY)


if __name__ == "__main__":
    main()
