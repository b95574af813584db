#!/bin/sh
# examples.sh [SBC]: every `example` of stdlib/functions.decl is true, interpreted and compiled.
#
# Each becomes a column of one row. Constants are not folded (--after=spell), so that the compiled
# run calls the functions. Run it alone: sh tests/examples.sh zig-out/bin/sbc
sbc=${1:-zig-out/bin/sbc}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
program=$work/examples.sbd
passed=0 failed=0

sed -n 's/^ *example //p' stdlib/functions.decl >"$work/examples"
count=$(wc -l <"$work/examples")
{
    echo '[{row: 1}]'
    echo '| select row,'
    awk -v count="$count" '{ printf "    e%d = (%s)%s\n", NR, $0, NR < count ? "," : "" }' \
        "$work/examples"
    echo '| write csv("-")'
} >"$program"

# judge ENGINE: the second line of rows.csv holds true for every example.
judge() {
    if ! "$sbc" run --no-cache --after=spell --engine="$1" "$program" \
            >"$work/rows.csv" 2>"$work/said"; then
        sed "s/^/examples: $1: /" "$work/said" >&2
        failed=$((failed + 1))
        return
    fi
    sed -n '2s/^1,//p' "$work/rows.csv" | tr , '\n' >"$work/values"
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

judge reference
judge compiled
echo "examples: $passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
