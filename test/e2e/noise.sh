# wormhole noise: lone flows have none, contended ones do, the same command gives the same files,
# compare judges by it, what does not fit is refused.
. "$(dirname "$0")/helpers.bash"

# make_config SENDERS BYTES - an incast that any scheme accepts.
make_config() {
    make_incast "$1" "$2"
    printf 'RP_TIMER 300\nHAS_WIN 1\n' >>config.txt
}

# A flow alone is not disturbed by starting a little later, whatever the scheme.
make_config 1 500KB
for mode in 1 3 7 8; do
    expect 0 "$WORMHOLE" noise --hpcc config.txt --set CC_MODE=$mode -o lone
    is "$(json lone/noise.json "max(f['largest'] for f in j['floor'].values())")" 0.0 \
        "floor of a lone flow, CC_MODE $mode"
    is "$(json lone/noise.json "[r['exact'] for r in j['by_run']]")" "[1, 1, 1]" "equal FCTs"
done
[ -e fct_out.txt ] && fail "noise wrote the results of a run"

# Eight flows into one port are.
make_config 8 500KB
expect 0 "$WORMHOLE" run --hpcc config.txt -o run --quiet
expect 0 "$WORMHOLE" noise --hpcc config.txt -o floor
says stdout "8 finished of 8"
says stdout "FCT of a flow, mean"
python3 - <<'PY' || fail "the figures do not hold together"
import csv, json
j = json.load(open("floor/noise.json"))
f, runs = j["floor"], j["by_run"]
assert j["runs"] == len(runs) == 3 and j["shift_ns_max"] == 99
assert f["fct_mean"]["largest"] >= f["fct_mean"]["mean"] > 0.001, f
assert f["fct_p99"]["largest"] >= f["fct_mean"]["largest"], f
assert "iteration_time" not in f
for name, figure in f.items():
    values = [r["change"][name] for r in runs]
    assert abs(figure["mean"] - sum(values) / 3) < 1e-9 and abs(figure["largest"] - max(values)) < 1e-9, name
assert [c["bytes_up_to"] for c in j["by_size"]] == [1000000]
assert j["by_size"][0]["floor"]["fct_mean"] == f["fct_mean"]
assert {r["seed"] for r in runs} == {j["base"]["seed"]}, "HPCC reads no marks"
# the undisturbed run is the one that run makes
rows, run = (list(csv.DictReader(open(p))) for p in ("floor/noise.csv", "run/fct.csv"))
assert [(r["flow"], r["src"], r["dst"], r["sport"], r["start_ns"], r["fct_ns"]) for r in rows] == \
    [(r["flow"], r["src"], r["dst"], r["sport"], r["start_ns"], r["fct_ns"]) for r in run]
assert all(r["runs"] == "3" for r in rows)
mean = sum(float(r["change_mean_pct"]) for r in rows) / 8
assert abs(mean / 100 - f["fct_mean"]["mean"]) < 1e-7, mean
largest = max(float(r["change_max_pct"]) for r in rows)
assert abs(largest / 100 - f["fct_max"]["largest"]) < 1e-7, largest
PY

# The same again, byte for byte; other numbers of runs keep what they share.
mv floor first
expect 0 "$WORMHOLE" noise --hpcc config.txt -o floor
cmp first/noise.json floor/noise.json || fail "the same command gives another noise.json"
cmp first/noise.csv floor/noise.csv || fail "the same command gives another noise.csv"
expect 0 "$WORMHOLE" noise --hpcc config.txt -o five --runs 5 --quiet
is "$(wc -c <stdout)" 0 "output with --quiet"
is "$(json five/noise.json "j['by_run'][:3]")" "$(json floor/noise.json "j['by_run']")" "first runs of five"

# Marks under DCQCN are drawn: another seed each.
expect 0 "$WORMHOLE" noise --hpcc config.txt --set CC_MODE=1 -o dcqcn
says stdout "other seeds"
is "$(json dcqcn/noise.json "[j['base']['seed']] + [r['seed'] for r in j['by_run']]")" "[1, 2, 3, 4]" "seeds"

# compare: a run against itself is within, a changed setting exceeds.
expect 0 "$WORMHOLE" compare run run --noise floor
says stdout "within the noise floor"
expect 0 "$WORMHOLE" run --hpcc config.txt --set RATE_AI=4Gb/s -o other --quiet
expect 1 "$WORMHOLE" compare run other --noise floor/noise.json
says stdout "EXCEEDS"
says stderr "exceed"
expect 1 "$WORMHOLE" compare run other --noise floor --json
is "$(json stdout "j['noise']['fct_mean']['allowed'] == max(0.005, j['noise']['fct_mean']['floor'])")" True "allowed"
is "$(json stdout "j['noise']['fct_mean']['difference'] == j['error']['mean']")" True "difference"
is "$(json stdout "j['noise']['mean_fct']['verdict'], j['noise']['of_this_run']")" "('exceeds', True)" "verdict"
expect 0 "$WORMHOLE" compare run run --noise lone
says stderr "of another run than A"

# A workload: the ranks start late, flows pair by order, the iteration time has a floor.
cat >w.yaml <<'YAML'
name: small
topology: {kind: rail, hosts: 16, gpus_per_server: 8, spines: 4, host_link: {rate: 400Gbps, delay: 500ns}}
workload:
  model: {family: llama, layers: 4, hidden: 128, heads: 8, sequence: 64, vocabulary: 512}
  parallel: {tp: 2, pp: 2, dp: 4}
  batch: {micro: 1, global: 16}
YAML
expect 0 "$WORMHOLE" noise w.yaml -o w
says stdout "iteration time"
expect 0 "$WORMHOLE" run w.yaml -o w_a --quiet --no-steady
expect 0 "$WORMHOLE" run w.yaml -o w_b --quiet --no-steady --set workload.compute_jitter=0.001%
is "$(json w/noise.json "j['base']['iteration_time_s']")" "$(json w_a/summary.json "j['iteration_time_s']")" \
    "iteration time of the undisturbed run"
is "$(json w/noise.json "j['workload'], 0 < j['floor']['iteration_time']['mean'] < 0.02")" "(True, True)" \
    "floor of the iteration time"
is "$(json w/noise.json "{r['flows_in_both'] for r in j['by_run']} == {j['base']['flows']}")" True "paired flows"
expect 0 "$WORMHOLE" compare w_a w_b --noise w
says stdout "iteration time"
says stdout "0 flows in A, 0 flows in B"
expect 0 "$WORMHOLE" compare w_a w_b --ignore-starts
says stdout "0 flows in A, 0 flows in B"
expect 0 "$WORMHOLE" compare w_a/fct.csv w_b --noise w
says stdout "not compared"

# Unfinished flows are said and left out; without a finished one there is no floor, and no file.
end_ns=$(cut -d, -f9 run/fct.csv | sed 1d | cut -d. -f1 | sort -n | sed -n 6p)
expect 0 "$WORMHOLE" noise --hpcc config.txt --end "${end_ns}ns" -o cut
says stderr "flows of the undisturbed run are unfinished"
is "$(json cut/noise.json "j['base']['flows'], j['base']['finished'] < 8")" "(8, True)" "flows of a run cut short"
grep -q ',,0,,$' cut/noise.csv || fail "no unfinished flow in noise.csv"
expect 1 "$WORMHOLE" noise --hpcc config.txt --end 1us -o none
says stderr "no flow is finished"
[ -e none/noise.json ] && fail "a file without a floor"

expect 2 "$WORMHOLE" noise
says stderr "no scenario"
expect 2 "$WORMHOLE" noise nowhere.yaml -o bad
says stderr "nowhere.yaml"
[ -e bad ] && fail "a folder for a scenario that is not there"
expect 2 "$WORMHOLE" noise --hpcc config.txt --runs 0
says stderr "--runs"
expect 2 "$WORMHOLE" noise --hpcc config.txt -o flow.txt/x
says stderr "cannot create the output folder"
expect 2 "$WORMHOLE" compare run run --noise nowhere
says stderr "nowhere"
expect 2 "$WORMHOLE" compare run run --noise run/summary.json
says stderr "written by wormhole noise"
expect 0 "$WORMHOLE" noise --help
says stdout "--runs N"

# A signal ends it, and leaves nothing.
make_incast 16 1GB
"$WORMHOLE" noise --hpcc config.txt -o stopped >stdout 2>stderr &
pid=$!
sleep 0.7
kill -INT "$pid"
wait "$pid"
is "$?" 1 "exit code after SIGINT"
says stderr "interrupted by SIGINT"
[ -e stopped/noise.json ] && fail "an interrupted command left noise.json"
finish
