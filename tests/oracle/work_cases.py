"""Programs of daily work: logs, ledgers, markets, orders and texts, judged by DuckDB on the same files."""
import random
from datetime import datetime, timedelta
from decimal import Decimal

import duckdb

from harness import case, expect, json_lines

EPOCH = datetime(2026, 3, 28)


def csv_lines(names, rows):
    quoted = [",".join('"' + str(v).replace('"', '""') + '"' if isinstance(v, str) and set(v) & set(',"\n') else
                       "" if v is None else str(v) for v in row) for row in rows]
    return "\n".join([names, *quoted]) + "\n"


def judge(work, sql, program, **options):
    """Rows of the program and of DuckDB, as a bag unless both are sorted."""
    got = work.rows(program + ' | write jsonl("out.jsonl")')
    db = duckdb.connect()
    db.execute(f"SET TimeZone = 'UTC'; SET file_search_path = '{work.path}'")
    expect(db.execute(sql).fetchall(), got, **options)


@case
def sessions_of_a_log(work):
    """Hosts and times by captures; the clocks of the log go over to summer time."""
    r = random.Random(1)
    t, lines = EPOCH, []
    for _ in range(3000):
        t += timedelta(seconds=r.choice((1, 20, 300, 1900)))
        lines.append(f'10.0.0.{r.randrange(40)} - - [{t:%d/%b/%Y:%H:%M:%S} +0100] "GET /p{r.randrange(9)}?q=a%20b HTTP/1.1" '
                     f'{r.choice((200, 404))} {r.randrange(5000)}')
    work.put("access.log", "\n".join(lines) + "\n")
    judge(work, """WITH a AS (SELECT regexp_extract(line, '^(\\S+) .*\\[([^\\]]+)\\] "\\S+ ([^ ?]+)\\S* [^"]*" (\\d+) (\\d+)', ['ip', 't', 'p', 's', 'n']) g
        FROM read_csv('access.log', header = false, columns = {'line': 'VARCHAR'}, delim = E'\\x01', quote = '', escape = '')),
        b AS (SELECT g.ip, strptime(g.t, '%d/%b/%Y:%H:%M:%S %z')::TIMESTAMP t, g.n::BIGINT n, g.p p FROM a),
        c AS (SELECT *, coalesce(t - lag(t) OVER w > INTERVAL 30 MINUTE, false)::INT new FROM b WINDOW w AS (PARTITION BY ip ORDER BY t)),
        d AS (SELECT *, 1 + sum(new) OVER (PARTITION BY ip ORDER BY t ROWS UNBOUNDED PRECEDING) s FROM c)
        SELECT ip, s::BIGINT, count(*), min(t), date_trunc('hour', timezone('Europe/Berlin', timezone('UTC', max(t)))), sum(n)::BIGINT, count(DISTINCT p)
        FROM d GROUP BY ip, s ORDER BY ip, s""", r'''read text("access.log")
        | derive g = extract_groups(line, r"^(\S+) .*\[([^\]]+)\] \x22\S+ ([^ ?]+)\S* [^\x22]*\x22 (\d+) (\d+)") ?? reject
        | derive ip = g[0], t = timestamp(g[1], "%d/%b/%Y:%H:%M:%S %z"), p = g[2], n = i64(g[4])
        | window by ip sort t { s = session(t, 30min) }
        | group by ip, s { hits = count(), first = min(t), last = max(t), n = sum(n), pages = count_distinct(p) }
        | derive last = if last == null then null else truncate(in_zone(last, "Europe/Berlin"), "hour")
        | sort ip, s''')


@case
def running_balances_of_a_ledger(work):
    """Decimals of two and of eight digits, and notes with quotes and line ends in them."""
    r = random.Random(2)
    notes = ["plain", 'he said "ok"', "two\nlines", "a,b", ""]
    rows = [(i, f"A{r.randrange(30)}", f"{r.randint(-10**9, 10**9) / 100:.2f}", f"{Decimal(r.randint(0, 10**9)).scaleb(-8):.8f}", r.choice(notes))
            for i in range(4000)]
    work.put("ledger.csv", csv_lines("id,account,amount,fee,note", rows))
    judge(work, """SELECT id, account, sum(amount) OVER w, sum(fee) OVER w, sum(amount) OVER w - sum(fee) OVER w, row_number() OVER w,
        length(coalesce(note, ''))
        FROM read_csv('ledger.csv', header = true, quote = '"', escape = '"', new_line = '\\n', columns = {'id': 'BIGINT', 'account': 'VARCHAR',
            'amount': 'DECIMAL(18, 2)', 'fee': 'DECIMAL(18, 8)', 'note': 'VARCHAR'})
        WINDOW w AS (PARTITION BY account ORDER BY id ROWS UNBOUNDED PRECEDING) ORDER BY id""",
          '''read csv("ledger.csv") as { id: i64, account: str, amount: decimal(18, 2), fee: decimal(18, 8), note: str }
        | window by account sort id { balance = sum(amount), fees = sum(fee), n = row_number() }
        | select id, account, balance, fees, net = balance - fees, n, note = len(note)''')


@case
def decimals_with_exponents(work):
    """As programs write small amounts from floats."""
    r = random.Random(3)
    rows = [(i, repr(r.randint(0, 10**6) / 10**8), f"{r.randint(1, 99)}e{r.randint(0, 6)}") for i in range(500)]
    work.put("amounts.csv", csv_lines("id,small,large", rows))
    judge(work, """SELECT id, small, small::DECIMAL(18, 8), large::DECIMAL(18, 2) FROM read_csv('amounts.csv', header = true, columns = {'id': 'BIGINT',
        'small': 'DECIMAL(18, 8)', 'large': 'VARCHAR'}) ORDER BY id""",
          '''read csv("amounts.csv") as { id: i64, small: decimal(18, 8), large: str }
        | select id, a = small + 0.0, b = decimal(str(small), 18, 8), c = decimal(large, 18, 2)''')


@case
def bars_of_trades_and_quotes(work):
    r = random.Random(4)

    def after(seconds):
        return f"{EPOCH + timedelta(seconds=seconds):%Y-%m-%dT%H:%M:%SZ}"
    trades = [(i, f"S{r.randrange(5)}", after(7 * i), r.randint(100, 999) / 4, r.randint(1, 50)) for i in range(3000)]
    quotes = [(f"S{r.randrange(5)}", after(11 * i), r.randint(100, 999) / 8) for i in range(1500)]
    work.put("trades.csv", csv_lines("id,symbol,made,price,qty", trades))
    work.put("quotes.csv", csv_lines("symbol,quoted,bid", quotes))
    both = '''let quotes = read csv("quotes.csv") as { symbol: str, quoted: timestamp, bid: f64 }
        let trades = read csv("trades.csv") as { id: i64, symbol: str, made: timestamp, price: f64, qty: i64 }
        '''
    judge(work, """SELECT symbol, time_bucket(INTERVAL 5 MINUTE, made) bar, arg_min(price, made), max(price), min(price), arg_max(price, made), sum(qty)::BIGINT
        FROM read_csv('trades.csv', types = {'made': 'TIMESTAMP'}) GROUP BY symbol, bar ORDER BY symbol, bar""",
          both + '''trades | group by symbol, bar = truncate(made, 5min) {
              open = arg_min(price, made), high = max(price), low = min(price), close = arg_max(price, made), qty = sum(qty) } | sort symbol, bar''')
    judge(work, """SELECT id, CASE WHEN made - quoted <= INTERVAL 40 SECOND THEN quoted END, CASE WHEN made - quoted <= INTERVAL 40 SECOND THEN bid END
        FROM read_csv('trades.csv', types = {'made': 'TIMESTAMP'}) t ASOF LEFT JOIN read_csv('quotes.csv', types = {'quoted': 'TIMESTAMP'}) q
        ON t.symbol = q.symbol AND t.made >= q.quoted ORDER BY id""",
          both + "trades | join left quotes on symbol and asof made >= quoted within 40s | select id, quoted, bid")


@case
def orders_made_flat(work):
    """Members that may be missing, lists of structs, and lists in these."""
    r = random.Random(5)

    def order(i):
        user = {"name": f"n{r.randrange(50)}"}
        if r.random() < 0.5:
            user["email"] = r.choice((None, "a@b.c"))
        if r.random() < 0.7:
            user["address"] = {"city": r.choice(("Oslo", "Köln"))}
        return {"id": i, "user": user, "items": [{"sku": f"s{r.randrange(20)}", "qty": r.randint(1, 9), "tags": r.sample("abcd", r.randrange(3))}
                                                 for _ in range(r.randrange(4))]}
    work.put("orders.jsonl", json_lines([order(i) for i in range(1500)]))
    source = """read_json('orders.jsonl', format = 'newline_delimited', columns = {'id': 'BIGINT', 'user': 'STRUCT(name VARCHAR, email VARCHAR,
        address STRUCT(city VARCHAR))', 'items': 'STRUCT(sku VARCHAR, qty BIGINT, tags VARCHAR[])[]'})"""
    read = '''read jsonl("orders.jsonl") as { id: i64, user: { name: str, email: str?, address: { city: str }? },
        items: [{ sku: str, qty: i64, tags: [str] }] } '''
    judge(work, f"""SELECT id, "user".name, coalesce("user".email, 'none'), "user".address.city, it.sku, it.qty, array_to_string(list_sort(it.tags), '|')
        FROM (SELECT *, unnest(items) it, generate_subscripts(items, 1) place FROM {source}) ORDER BY id, place""",
          read + '''| explode items
        | select id, name = user.name, email = user.email ?? "none", city = user.address.city, sku = items.sku, qty = items.qty,
            tags = join(sort(items.tags), "|")''')
    judge(work, f"""SELECT "user".address.city c, count(*), sum(list_sum(list_transform(items, lambda x: x.qty)))::BIGINT,
        sum(len(list_distinct(flatten(list_transform(items, lambda x: x.tags)))))::BIGINT
        FROM {source} WHERE len(list_filter(items, lambda x: x.qty > 4)) > 0 GROUP BY c ORDER BY c NULLS LAST""",
          read + '''| where any(items, x -> x.qty > 4)
        | derive n = reduce(items, 0, (s, x) -> s + x.qty), tags = distinct(flatten(map(items, x -> x.tags)))
        | group by city = user.address.city { orders = count(), n = sum(n), tags = sum(len(tags)) } | sort city''')


@case
def latest_rows_of_many_keys(work):
    """So many rows that threads let go of some while others come."""
    r = random.Random(6)
    rows = [(i, f"user number {r.randrange(9000)}", r.randrange(4), r.randrange(500), r.choice((None, 1.5, 2.5))) for i in range(90000)]
    work.put("rows.csv", csv_lines("id,who,kind,v,x", rows))
    read = 'read csv("rows.csv") as { id: i64, who: str, kind: i64, v: i64, x: f64? } '
    for step, order in (("distinct who, kind keep last by v", "PARTITION BY who, kind ORDER BY v DESC, id DESC) = 1"),
                        ("distinct who keep first by x", "PARTITION BY who ORDER BY x NULLS LAST, id) = 1"),
                        ("distinct x, kind keep first by v", "PARTITION BY x, kind ORDER BY v, id) = 1"),
                        ("top 2 by v per who", "PARTITION BY who ORDER BY v DESC, id) <= 2"),
                        ("top 3 by who, v asc per x", "PARTITION BY x ORDER BY who DESC, v, id) <= 3")):
        judge(work, f"SELECT id, who, kind, v, x FROM 'rows.csv' QUALIFY row_number() OVER ({order} ORDER BY id", read + f"| {step}")


@case
def most_frequent_texts(work):
    """Short ones, long ones, and such that are alike but for their length."""
    r = random.Random(7)
    words = ["", "a", "aa", "a\0", "\0", "\0\0", "seven77", "eight888", "eight889", "é", "ü" * 4,
             "a long text, which is no word", "a long text, which is no work"]
    rows = [(i, r.randrange(400), r.choice(words), r.randint(-3, 3), r.choice((0.5, -1.25, None))) for i in range(20000)]
    work.put("t.jsonl", json_lines([dict(zip(("id", "k", "s", "n", "x"), row)) for row in rows]))
    got = work.rows('''read jsonl("t.jsonl") as { id: i64, k: i64, s: str, n: i64, x: f64? }
        | group by k { s = mode(s), n = mode(n), x = mode(x), b = mode(n > 0), d = mode(decimal(n, 20, 1)) } | sort k | write jsonl("out.jsonl")''')

    def mode(k, value):
        counts = {}
        for row in rows:
            if row[1] == k and value(row) is not None:
                counts[value(row)] = counts.get(value(row), 0) + 1
        return max(counts, key=counts.get)  # Of several the one that came first.
    expect([(k, mode(k, lambda t: t[2]), mode(k, lambda t: t[3]), mode(k, lambda t: t[4]), mode(k, lambda t: t[3] > 0),
             Decimal(mode(k, lambda t: t[3])).quantize(Decimal("0.1"))) for k in range(400)], got)


@case
def pairs_of_words_and_their_first(work):
    r = random.Random(8)
    words = "the quick Brown fox jumps over a lazy dog near river and bank".split()
    work.put("texts.txt", "".join(" ".join(r.choices(words, k=r.randrange(1, 12))) + "\n" for _ in range(3000)))
    judge(work, """WITH w AS (SELECT string_split(lower(line), ' ') w
            FROM read_csv('texts.txt', header = false, columns = {'line': 'VARCHAR'}, delim = E'\\x01')),
        b AS (SELECT unnest(list_transform(range(1, len(w)), lambda i: w[i] || ' ' || w[i + 1])) pair FROM w),
        c AS (SELECT pair, count(*) n FROM b GROUP BY pair)
        SELECT pair, n, split_part(pair, ' ', 1) f FROM c QUALIFY row_number() OVER (PARTITION BY f ORDER BY n DESC, pair) <= 3 ORDER BY f, n DESC, pair""",
          '''read text("texts.txt") | derive pair = ngrams(words(lower(line)), 2) | explode pair | group by pair { n = count() }
        | derive f = split_part(pair, " ", 0) ?? "" | top 3 by n, pair asc per f | sort f, n desc, pair''')


@case
def shares_that_make_most(work):
    r = random.Random(9)
    work.put("sales.csv", csv_lines("shop,product,amount", [
        (r.randrange(8), f"p{r.randrange(60)}", r.choice((None, r.randint(0, 99999) / 100))) for _ in range(5000)]))
    judge(work, """WITH g AS (SELECT shop, product, coalesce(sum(amount), 0)::DECIMAL(38, 2) total
            FROM read_csv('sales.csv', types = {'amount': 'DECIMAL(12, 2)'}) GROUP BY 1, 2)
        SELECT shop, product, total, sum(total) OVER w, sum(total) OVER (PARTITION BY shop), rank() OVER w FROM g
        WINDOW w AS (PARTITION BY shop ORDER BY total DESC, product) ORDER BY shop, total DESC, product""",
          '''read csv("sales.csv") as { shop: i64, product: str, amount: decimal(12, 2)? } | group by shop, product { total = sum(amount) }
        | window by shop sort total desc, product { run = sum(total), all = sum(total) rows all, r = rank() } | sort shop, total desc, product''')
