#!/bin/sh
# suites.sh COMMAND...: runs each command, which is one suite of tests and ends with
# `N passed, N failed, N skipped`, and prints their sum as the last line.
log=$(mktemp) && sums=$(mktemp) || exit 1
trap 'rm -f "$log" "$sums"' EXIT
for suite; do
    echo "== $suite"
    { sh -c "$suite" 2>&1; echo "exit $?" >>"$sums"; } | tee "$log"
    # A suite that ends without its line, or badly though its line shows no failure, has failed.
    last=$(grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$log" | tail -n 1)
    [ -n "$last" ] || last="0 passed, 1 failed, 0 skipped"
    if [ "$(tail -n 1 "$sums")" != "exit 0" ]; then last=$(echo "$last" | sed 's/ 0 failed/ 1 failed/'); fi
    echo "$last" >>"$sums"
done
echo "== all suites"
awk '/passed/ { p += $1; f += $3; s += $5 }
     END { printf "%d passed, %d failed, %d skipped\n", p, f, s; exit f > 0 || p == 0 }' "$sums"
