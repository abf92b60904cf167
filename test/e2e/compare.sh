# wormhole compare: tables, JSON, limits.
. "$(dirname "$0")/helpers.bash"

cat >a.txt <<'TXT'
0b000001 0b000101 10000 100 500 2000000000 1000 900
0b000001 0b000201 10000 100 1000000 2000000000 2000 1900
TXT
cat >b.txt <<'TXT'
0b000001 0b000201 10000 100 1000000 2000000000 2040 1900
0b000001 0b000101 10000 100 500 2000000000 1000 900
TXT
expect 0 "$WORMHOLE" compare a.txt b.txt
says stdout "<= 1000 "
says stdout "<= 1000000 "
expect 0 "$WORMHOLE" compare a.txt b.txt --json
is "$(json stdout "j['error']['mean'], j['error']['max'], j['error']['exact'], j['makespan_b_ns']")" \
    "(0.01, 0.02, 1, 2040.0)" "figures of the comparison"
expect 0 "$WORMHOLE" compare a.txt b.txt --max-mean 1% --max-p99 2%
expect 1 "$WORMHOLE" compare a.txt b.txt --max-mean 0.9%
says stderr "mean error 1.0000% exceeds"
expect 1 "$WORMHOLE" compare a.txt b.txt --max-p99 1.9%
expect 0 "$WORMHOLE" compare a.txt a.txt --max-mean 0 --max-p99 0

# A missing flow is reported, and fails where limits count.
head -n 1 b.txt >short.txt
expect 0 "$WORMHOLE" compare a.txt short.txt
says stdout "1 flows in A, 0 flows in B"
expect 1 "$WORMHOLE" compare a.txt short.txt --max-mean 50%
: >empty.txt
expect 1 "$WORMHOLE" compare a.txt empty.txt
says stderr "no flow is finished in both"
printf '1 2 3\n' >bad.txt
expect 2 "$WORMHOLE" compare a.txt bad.txt
says stderr "bad.txt:1"

# A folder is read through its fct.csv, and agrees with the HPCC file of the same run.
make_incast 4 50KB
expect 0 "$WORMHOLE" run --hpcc config.txt -o run --quiet
expect 0 "$WORMHOLE" compare run run/fct_out.txt --max-mean 0 --max-p99 0
finish
