# SIGINT and SIGTERM in mid run: results so far, marked as incomplete; a second signal kills.
. "$(dirname "$0")/helpers.bash"
make_incast 16 1GB
# One flow that ends early, so that there is something to keep.
sed -i '1s/.*/17/' flow.txt
sed -i '1a 0 1 3 100 1000 0.000000000' flow.txt

for signal in INT TERM; do
    "$WORMHOLE" run --hpcc config.txt -o "out_$signal" >stdout 2>stderr &
    pid=$!
    for _ in $(seq 100); do
        [ -e "out_$signal/summary.json" ] && break
        sleep 0.05
    done
    sleep 0.5
    kill -"$signal" "$pid"
    wait "$pid"
    is "$?" 1 "exit code after SIG$signal"
    says stderr "interrupted by SIG$signal"
    says stdout "INCOMPLETE"
    is "$(json "out_$signal/summary.json" "j['complete']")" False "complete after SIG$signal"
    is "$(wc -l <"out_$signal/fct_out.txt")" 1 "finished flows so far"
    is "$(wc -l <"out_$signal/fct.csv")" 18 "all flows are in fct.csv"
    says "out_$signal/fct.csv" ",active"
done

# Progress for programs: one JSON object a line.
"$WORMHOLE" run --hpcc config.txt -o progress --progress json >/dev/null 2>stderr &
pid=$!
sleep 2.5
kill -INT "$pid"
wait "$pid"
grep '^{' stderr >lines
[ "$(wc -l <lines)" -ge 2 ] || fail "fewer than two progress lines in 2.5 s"
python3 -c 'import json; [json.loads(l)["events"] for l in open("lines")]' || fail "progress lines are no JSON"
finish
