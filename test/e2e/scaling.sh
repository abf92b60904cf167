# wormhole bench scaling: one table, the same results everywhere, figures that hold together, a plot.
. "$(dirname "$0")/helpers.bash"
cat >pairs.yaml <<'YAML'
name: it's a_pair
topology: {kind: leaf-spine, leaves: 4, spines: 2, hosts_per_leaf: 4}
congestion_control: {kind: dctcp}
flows:
  - {pattern: permutation, bytes: 200KB}
YAML
expect 0 "$WORMHOLE" bench scaling pairs.yaml --threads 4,2 --repetitions 2 --engine-check --json s.json
says stdout "All runs had the same results"
says stdout "predicted"
says stderr "serial, 1 thread, watched run:"
says stderr "partitioned, 4 threads, run 2 of 2:"
is "$(grep -c 'same$' stdout)" 4 "rows of the table"
is "$(ls)" "$(printf 'pairs.yaml\ns.json\nstderr\nstdout')" "files"
python3 - <<'PY' || fail "the figures do not hold together"
import json
j = json.load(open("s.json"))
rows = j["rows"]
assert [(r["engine"], r["threads"]) for r in rows] == [
    ("serial", 1), ("partitioned", 1), ("partitioned", 2), ("partitioned", 4)]
assert j["same_results"] and len({r["digest"] for r in rows}) == 1
base = rows[1]["wall_s"]["median"]
for r in rows:
    w, s = r["wall_s"], r["speedup"]
    assert 0 < w["min"] <= w["median"] <= w["max"]
    assert abs(s["median"] - base / w["median"]) < 1e-6 * s["median"], r
    assert abs(r["efficiency"] - s["median"] / r["threads"]) < 1e-6
    assert abs(r["packet_hops_per_s"] * w["median"] - r["packet_hops"]) < 1e-6 * r["packet_hops"]
    o = r["observed"]
    share = sum(o["share"].values())
    if r["engine"] == "serial":
        assert share == 0 and o["rounds"] == 0, r
    else:
        assert abs(share - 1) < 1e-6 and o["rounds"] > 0 and o["tasks"] >= o["rounds"], r
for k in ("rounds", "tasks", "joins", "splits", "partitions_alive_max"):
    assert len({r["observed"][k] for r in rows[1:]}) == 1, k
assert j["record"]["is_whole"] and j["record"]["tasks"] == rows[1]["observed"]["tasks"]
predicted = {p["threads"]: p for p in j["predictions"]}
assert sorted(predicted) == [2, 4, 8, 16, 32]
for n, p in predicted.items():
    parts = sum(p[k] for k in ("serial_s", "sequential_s", "work_s", "imbalance_s", "overhead_s"))
    assert abs(parts - p["total_s"]) < 1e-6 * p["total_s"], p
    assert p["speedup"] <= n * (1 + 1e-6), p
    assert (p["measured_speedup"] is None) == (n not in (2, 4) or n > j["processors"]), p
PY

# A workload; and what is not for the terminal.
expect 0 "$WORMHOLE" bench scaling pairs.yaml --threads 1 --repetitions 1 --quiet
grep -v "warning: one thread got only" stderr | grep . && fail "--quiet speaks"

if command -v gnuplot >/dev/null; then
    expect 0 "$WORMHOLE" bench scaling pairs.yaml --threads 1,2 --repetitions 1 --svg s.svg
    python3 -c 'import xml.dom.minidom as m; m.parse("s.svg")' || fail "s.svg is no XML"
    says s.svg "measured"
fi
mkdir empty
PATH_BEFORE=$PATH
PATH=$scratch/empty expect 2 "$WORMHOLE" bench scaling pairs.yaml --svg none.svg 2>/dev/null
PATH=$PATH_BEFORE
says stderr "--svg: found no gnuplot"
[ -e none.svg ] && fail "an empty plot"

expect 2 "$WORMHOLE" bench scaling
says stderr "no scenario"
expect 2 "$WORMHOLE" bench scaling pairs.yaml --threads 1,x
says stderr "--threads: found 'x'"
expect 2 "$WORMHOLE" bench scaling pairs.yaml --json nowhere/s.json
says stderr "nowhere/s.json"
expect 2 "$WORMHOLE" bench
says stderr "expected collective or scaling"
expect 0 "$WORMHOLE" bench scaling --help
says stdout "--engine-check"
# Only the serial engine can run it: there is nothing to scale.
make_incast 4 100KB
printf 'LINK_DOWN 1000000 0 5\n' >>config.txt
printf 'RP_TIMER 300\nHAS_WIN 1\n' >>config.txt
expect 2 "$WORMHOLE" bench scaling --hpcc config.txt --threads 1 --repetitions 1 --json no.json
says stderr "only the serial engine"
[ -e no.json ] && fail "figures of a scenario that cannot scale"

# A signal ends it, and leaves nothing.
make_incast 16 1GB
"$WORMHOLE" bench scaling --hpcc config.txt --json stopped.json >stdout 2>stderr &
pid=$!
sleep 0.7
kill -INT "$pid"
wait "$pid"
is "$?" 1 "exit code after SIGINT"
says stderr "interrupted by SIGINT; nothing is written"
[ -e stopped.json ] && fail "a file of an interrupted bench"
finish
