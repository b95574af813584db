#!/bin/sh
# examples.sh [SBC]: every `example` of stdlib/functions.decl is true, interpreted and compiled.
#
# One of a function is an expression and becomes a column of one row; one of an aggregate is a flow
# of the one column `ok`, and all of these become one union. Constants are not folded
# (--after=spell), so that the compiled run calls the functions. Run it alone:
# sh tests/examples.sh zig-out/bin/sbc
sbc=${1:-zig-out/bin/sbc}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
program=$work/examples.sbd
passed=0 failed=0

# of KIND: the examples of functions (fn) or aggregates (agg).
of() {
    awk -v kind="$1" '/^(fn|agg) / { now = $1 }
                      /^ +example / && now == kind { sub(/^ +example /, ""); print }' \
        stdlib/functions.decl
}

of fn >"$work/functions"
of agg >"$work/aggregates"
cat "$work/functions" "$work/aggregates" >"$work/examples"
count=$(wc -l <"$work/examples")
{
    echo '[{row: 1}]'
    printf '| select'
    awk -v count="$(wc -l <"$work/functions")" \
        '{ printf "    e%d = (%s)%s\n", NR, $0, NR < count ? "," : "" }' "$work/functions"
    echo "| write csv(\"$work/functions.csv\", header = false)"
    awk 'NR == 1 { print } NR > 1 { printf "| union (%s)\n", $0 }' "$work/aggregates"
    echo "| write csv(\"$work/aggregates.csv\", header = false)"
} >"$program"

# judge ENGINE: every value that the program leaves is true.
judge() {
    rm -f "$work/functions.csv" "$work/aggregates.csv"
    if ! "$sbc" run --no-cache --after=spell --engine="$1" "$program" 2>"$work/said"; then
        sed "s/^/examples: $1: /" "$work/said" >&2
        failed=$((failed + 1))
        return
    fi
    { tr , '\n' <"$work/functions.csv" && cat "$work/aggregates.csv"; } >"$work/values"
    if [ "$(wc -l <"$work/values")" -ne "$count" ]; then
        echo "examples: $1: $count values are expected" >&2
        failed=$((failed + 1))
    fi
    paste -d ' ' "$work/values" "$work/examples" | grep -v '^true ' >"$work/wrong"
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
