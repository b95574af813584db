"""Rows of bench.py whose kernels fill groups: columns of TPC-H's lineitem as dbgen distributes them, in cents.

Peers work eagerly: with a mask for each group, as neither torch nor CuPy groups rows by itself.
"""
ROWS = 1 << 28
SHIPPED, LAST = 8036, 10561  # Days: 1992-01-02 and 1998-12-01.
TODAY = 9298  # 1995-06-17: what was received later is not returned.
Q1_UNTIL, Q6_FROM, Q6_UNTIL = 10471, 8766, 9131
FLAGS = ((65, 70), (78, 70), (78, 79), (82, 70))  # A F, N F, N O, R F.


def lineitem(torch, rows):
    def between(least, most, dtype=torch.int64):
        return torch.randint(least, most + 1, (rows,), dtype=dtype, device="cuda")
    quantity = between(1, 50)
    columns = {"shipdate": between(SHIPPED, LAST, torch.int32), "extendedprice": quantity * between(90000, 209999),
               "discount": between(0, 10), "tax": between(0, 8)}
    columns["quantity"] = quantity * 100
    received = columns["shipdate"] + between(1, 30, torch.int32)
    returned = between(0, 1, torch.uint8)
    columns["returnflag"] = torch.where(received > TODAY, 78, 65 + 17 * returned).to(torch.uint8)
    columns["linestatus"] = torch.where(columns["shipdate"] > TODAY, 79, 70).to(torch.uint8)
    return columns


# Each takes the module of arrays, torch or CuPy: what they call is named alike in both.

def q6(arrays, shipdate, quantity, price, discount):
    kept = (shipdate >= Q6_FROM) & (shipdate < Q6_UNTIL) & (discount >= 5) & (discount <= 7) & (quantity < 2400)
    return (arrays.where(kept, price * discount, 0)).sum()


def q1(arrays, shipdate, quantity, price, discount, tax, flag, status):
    kept = shipdate <= Q1_UNTIL
    less = price * (100 - discount)
    charge = less * (100 + tax)
    sums = []
    for one, other in FLAGS:
        mine = kept & (flag == one) & (status == other)
        sums += [arrays.where(mine, x, 0).sum() for x in (quantity, price, less, charge, discount)] + [mine.sum()]
    return arrays.stack(sums)


def row(torch, query, names, columns, words):
    used = [columns[name] for name in names]
    size = sum(column.element_size() for column in used)
    return {"rows": ROWS, "columns": columns, "bytes": size * ROWS, "call": lambda *given: query(torch, *given), "with": used,
            "cupy": lambda cupy: (query, [cupy.from_dlpack(column) for column in used]), "words": words}


def row_q6(torch):
    return row(torch, q6, ("shipdate", "quantity", "extendedprice", "discount"), lineitem(torch, ROWS), ("revenue",))


def row_q1(torch):
    names = ("shipdate", "quantity", "extendedprice", "discount", "tax", "returnflag", "linestatus")
    return row(torch, q1, names, lineitem(torch, ROWS),
               ("sum_qty", "sum_base_price", "sum_disc_price", "sum_charge", "avg_disc", "count_order"))


def difference(groups, peer, words):
    """The largest difference between what a table says and what the peer computed, group by group."""
    groups = sorted(groups, key=lambda group: (group.get("returnflag", 0), group.get("linestatus", 0)))
    ours = [group[word] for group in groups for word in words]
    theirs = peer.flatten().tolist()
    return max(abs(a - b) for a, b in zip(ours, theirs)) if len(ours) == len(theirs) else float("inf")
