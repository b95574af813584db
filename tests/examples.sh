#!/bin/sh
# examples.sh [SBC]: every `example` of stdlib/functions.decl and of frontend/tensors.def is true,
# interpreted and compiled.
#
# One of a function is an expression and becomes a column of one row; one of an aggregate is a flow
# of the one column `ok`, and a few of these become one union.
# Constants are not folded (--after=spell), so that the compiled run calls the functions. Run it
# alone: sh tests/examples.sh zig-out/bin/sbc
sbc=${1:-zig-out/bin/sbc}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
flows=12 # In one union.
passed=0 failed=0

# of KIND: the examples of functions (fn) or aggregates (agg).
of() {
    awk -v kind="$1" '/^(fn|agg) / { now = $1 }
                      /^ +example / && now == kind { sub(/^ +example /, ""); print }' \
        stdlib/functions.decl
}

ln -s "$PWD/examples" "$work/examples"  # Paths begin beside the program.
of fn >"$work/functions"
sed -n 's/^       "\(.*\)")$/\1/p' frontend/tensors.def | sed 's/\\"/"/g' >>"$work/functions"
of agg >"$work/aggregates"
cat "$work/functions" "$work/aggregates" >"$work/all"
count=$(wc -l <"$work/all")
{
    echo '[{row: 1}]'
    printf '| select'
    awk -v count="$(wc -l <"$work/functions")" \
        '{ printf "    e%d = (%s)%s\n", NR, $0, NR < count ? "," : "" }' "$work/functions"
    echo "| write csv(\"$work/0.csv\", header = false)"
} >"$work/0.sbd"
awk -v flows="$flows" -v work="$work" '
    { file = work "/" int((NR - 1) / flows) + 1 }
    NR % flows == 1 { print > (file ".sbd") }
    NR % flows != 1 { printf "| union (%s)\n", $0 > (file ".sbd") }
    { last[file] = 1 }
    END { for (file in last) printf "| write csv(\"%s.csv\", header = false)\n", file > (file ".sbd") }
' "$work/aggregates"
programs=$((1 + ($(wc -l <"$work/aggregates") + flows - 1) / flows))

# judge ENGINE: every value that the program leaves is true.
judge() {
    : >"$work/values"
    for at in $(seq 0 $((programs - 1))); do
        rm -f "$work/$at.csv"
        if ! "$sbc" run --no-cache --after=spell --engine="$1" "$work/$at.sbd" 2>"$work/said"; then
            sed "s/^/examples: $1: /" "$work/said" >&2
            failed=$((failed + 1))
            return
        fi
        tr , '\n' <"$work/$at.csv" >>"$work/values"
    done
    if [ "$(wc -l <"$work/values")" -ne "$count" ]; then
        echo "examples: $1: $count values are expected" >&2
        failed=$((failed + 1))
    fi
    paste -d ' ' "$work/values" "$work/all" | grep -v '^true ' >"$work/wrong"
    sed "s/^\([^ ]*\) /examples: $1: this is \1: /" "$work/wrong" >&2
    wrong=$(wc -l <"$work/wrong")
    failed=$((failed + wrong))
    passed=$((passed + count - wrong))
}

# A declaration without an example is a failure too.
awk '/^(fn|agg) / { if (head != "" && !shown) print head; head = $0; shown = 0 }
     /^ +example / { shown = 1 }
     END { if (!shown) print head }' stdlib/functions.decl >"$work/bare"
sed 's/^/examples: none for /' "$work/bare" >&2
failed=$((failed + $(wc -l <"$work/bare")))

judge reference
judge compiled
echo "examples: $passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
