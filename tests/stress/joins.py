"""Random programs of joins: right sides with hot keys, few keys and nulls; joins of every kind one behind the other, with
steps that take rows out, make more of them, reject some or sort them; into files, groups and limits."""

KINDS = ["", "", "left ", "semi ", "anti "]
LAST_KINDS = [*KINDS, "right ", "full "]
HOT = 7


def right_side(draw, number):
    """Rows k{number}, t{number}; about so many of each key."""
    rows = draw.choice([50, 3000, 60000])
    keys = max(1, rows // draw.choice([1, 1, 2]))
    hot = draw.choice([0, 0, 3, 10])  # Every so many rows have the hot key.
    null = draw.choice([0, 0, 11])
    key = f"hash(i + {number}) % {keys}"
    if hot:
        key = f"if i % {hot} == 0 then {HOT} else {key}"
    if null:
        key = f"if i % {null} == 1 then null else ({key})"
    text = f'f"right row {{i}} of side {number}"' if draw.random() < 0.7 else "str(i % 100)"
    return rows, keys, f"let r{number} = range({rows}) | derive k{number} = {key}, t{number} = {text} | select k{number}, t{number}\n"


def left_side(draw, keys):
    """Rows i, k: few have the hot key."""
    source = draw.choice(["range(1500)", "range(1500)", "range(40)",
                          'read csv("rows.csv") as { id: i64, key: i64, value: f64, text: str } | select i = id'])
    text = f"{source} | derive k = if i % 400 == 9 then {HOT} else hash(i * 3) % {2 * keys}"
    return text + draw.choice(["", "", " | sort hash(i * 7)", " | where i % 3 != 1"])


def step_behind(draw, number, there):
    """What is done with the rows of join `number`, of which `there` says whether they have its text."""
    text = {"": f"t{number}", "left ": f'(t{number} ?? "none")'}.get(there)
    if text is None:
        return ""
    steps = [f" | derive n{number} = len({text})"]
    more = draw.choice(["", "", "where", "explode", "words", "reject"])
    if more == "where":
        steps.append(f" | where hash({text}) % 5 != 2")
    elif more == "explode":
        steps.append(f" | derive e{number} = [i, n{number}, 3] | explode e{number}")
    elif more == "words":
        steps.append(f' | derive w{number} = split({text}, " ") | explode w{number}')
    elif more == "reject":
        steps.append(f" | derive q{number} = 100 // (hash({text}) % 50)")
    return "".join(steps)


def condition(draw, number, kind):
    """What a pair of join `number` has to be, now and then: the nearest, one that few pairs fulfil, many, or that may
    fault."""
    pair = f"hash(t{number} + str(i))"
    near = f" and asof hash(str(i)) % 1000 {draw.choice(['<=', '>', '>='])} hash(t{number}) % 1000"
    near += draw.choice(["", " within 30"])
    near = "" if kind in ("right ", "full ") else near
    return draw.choice(["", "", "", near, f" and {pair} % 3 != 1", f" and {pair} % 40 == 1", f" and 99 // ({pair} % 9000) >= 0"])


def ends(draw, flow, typed):
    """Where the rows go. All have the columns i and k."""
    numbers = "i, k" if typed else "i = i ?? 0, k = k ?? 0"
    group = f"{flow} | select {numbers} | group by kind = i % 7 {{ n = count(), least = min(k), most = max(i) }} | write csv(\"group.csv\")\n"
    rows = f"{flow} | write csv(\"rows_out.csv\")\n"
    some = f"{flow} | limit {draw.choice([5, 300, 20000])} | write jsonl(\"some.jsonl\")\n"
    return "".join(draw.choice([[rows], [rows], [rows], [group], [some], [rows, group], [rows, some]]))


def program(draw):
    """The text of one."""
    count = draw.choice([1, 1, 2, 3])
    sides = [right_side(draw, number) for number in range(count)]
    text = "".join(side[2] for side in sides)
    flow = left_side(draw, sides[0][1])
    typed = True
    for number in range(count):
        kind = draw.choice(LAST_KINDS if number == count - 1 else KINDS)
        typed = kind not in ("right ", "full ")
        key = "k" if number == 0 else f"j{number}"
        if number > 0:
            flow += f" | derive j{number} = hash(i * 5 + {number}) % {sides[number][1] + 3}"
        flow += f" | join {kind}r{number} on {key} == k{number}{condition(draw, number, kind)}" + step_behind(draw, number, kind)
    text += f"let all = {flow}\n" + ends(draw, "all", typed)
    how = draw.choice(["", "", "# compile: --no-fuse\n"])
    return "# many rows\n" + how + text + 'rejects write jsonl("rejects.jsonl") limit 10000000\n'
