#!/bin/sh
# resume.sh: kills a job half-way, looks at its journal, and lets it go on; the result is that of a job left alone.
# usage: sh examples/resume.sh, in the repository; SBC names the compiler.
set -eu
cd "$(dirname "$0")/.."
sbc=${SBC:-zig-out/bin/sbc}
out=out/resume
say() { printf '\n$ %s\n' "$*"; }

rm -rf out/flights.csv* out/rejects.jsonl* "$out"
mkdir -p "$out"
say "sbc examples/11-resume.sbd -o $out/flights"
"$sbc" examples/11-resume.sbd -o "$out/flights"

# 304 rows of 20 ms each on one thread; a commit behind each second.
options="--pause=20ms --resume=$out/journal --partition=2KiB --threads=1"
say "$out/flights $options &"
# shellcheck disable=SC2086
"$out/flights" $options &
job=$!
until "$out/flights" $options --journal="$out/journal" 2>/dev/null | grep -q 'goes on'; do
    kill -0 $job
    sleep 0.2
done
say "kill -9 $job"
kill -9 $job
wait $job || echo "exit code $?"

say "$out/flights $options --journal=$out/journal"
"$out/flights" $options --journal="$out/journal"

say "$out/flights $options"
"$out/flights" $options

cp out/flights.csv "$out/resumed.csv"
say "$out/flights --overwrite            # left alone"
"$out/flights" --overwrite 2>"$out/alone.txt"
say "cmp out/flights.csv $out/resumed.csv"
cmp out/flights.csv "$out/resumed.csv" && echo "the same bytes"
