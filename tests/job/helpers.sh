# helpers.sh: words of more than one case of this folder.

# changes_while_read ROWS JOB OPTION...: z.csv is opened at the start and read after the pipe in front
# of it; it shrinks, grows or is touched in between.
changes_while_read() {
    rows=$1
    shift
    mkfifo wait
    for change in shrink grow touch; do
        numbers "$rows" >z.csv
        timeout 60 "$@" --input=wait --input=z.csv >"$work/out" 2>"$work/err" &
        job=$!
        {
            numbers $((rows / 4))
            case $change in
            shrink) numbers $((rows / 2)) >z.csv ;;
            grow) numbers $((rows * 3 / 2)) >z.csv ;;
            touch) touch -d 2001-01-01 z.csv ;;
            esac
        } >wait
        wait $job
        code=$?
        [ $code = 1 ] || wrong "$change: exit $code instead of 1"
        says "error[SB8013]: 'z.csv'"
        only_files "./z.csv "
    done
}

# roomy JOB THREADS: the least memory, and what rows of 10 MB take beside it.
roomy() {
    "$1" --plan --threads="$2" | awk '
        $1 == "--memory" { least = $2 }
        /^a row longer than a partition waits/ { match($0, /[0-9]+ times/); times = substr($0, RSTART) + 0 }
        END { printf "--memory=%dMiB --threads='"$2"'", least + 10 * times + 1 }'
}

# long_rows BYTES: short rows, and a long one behind each fifty of them.
long_rows() {
    awk -v bytes="$1" 'BEGIN {
        print "a,b,x"
        for (i = 0; i < 5; i++) {
            for (j = 0; j < 50; j++) printf "%d,short,2.5\n", 100 * i + j
            for (text = sprintf("%060d%040d", i, i); length(text) < bytes; text = text text);
            printf "%d,%s,1.5\n", i, substr(text, 1, bytes)
        }
    }'
}

# Until temporary files are there.
until_begun() {
    tries=0
    until [ -n "$(find . -name '.*.csv.*')" ] || [ $tries = 100 ]; do
        sleep 0.05
        tries=$((tries + 1))
    done
}

# refused CODE SB.... COMMAND...: by --check and by the run, which makes nothing but the folder of a journal.
refused() {
    want_code=$1 want_error=$2
    shift 2
    before=$(find . ! -path ./journal | LC_ALL=C sort)
    for how in --check ""; do
        gives "$want_code" "$@" $how
        says "error[$want_error]: "
    done
    after=$(find . ! -path ./journal | LC_ALL=C sort)
    [ "$after" = "$before" ] || wrong "there is:" $after
}

# listens JOB OPTION...: a job that takes workers, in $job; it says where in $at. What it says is in c.err.
# A case may say in which network both sides are: `near` and `far` are commands before theirs, `host` the address.
near= far= host=127.0.0.1
listens() {
    : >c.err
    $near timeout 60 "$@" --listen="$host:0" --key-file=key 2>c.err &
    job=$!
    tries=0
    until at=$(sed -n 's/^workers join at //p' c.err) && [ -n "$at" ]; do
        tries=$((tries + 1))
        [ $tries -lt 200 ] || { wrong "the job does not listen: $(head -1 c.err)"; break; }
        sleep 0.05
    done
}

# joins NUMBER JOB OPTION...: a worker of it, in $worker. What it says is in wNUMBER.err.
joins() {
    number=$1
    shift
    : >"w$number.err"
    $far "$@" --join="$at" --key-file=key 2>"w$number.err" &
    worker=$!
}

# until_says FILE TEXT
until_says() {
    tries=0
    until grep -qF -- "$2" "$1"; do
        tries=$((tries + 1))
        [ $tries -lt 200 ] || { wrong "$1 does not say: $2"; break; }
        sleep 0.05
    done
}

# new_key FILE
new_key() {
    (umask 077; head -c 32 /dev/urandom >"$1")
}
