# A training workload: checked, run, reported; the same again; what does not fit is refused.
. "$(dirname "$0")/helpers.bash"
: "${WH_SOURCE_DIR:?the source tree}"

cat >s.yaml <<'YAML'
name: small
topology: {kind: rail, hosts: 16, gpus_per_server: 8, spines: 4, host_link: {rate: 400Gbps, delay: 500ns}}
workload:
  iterations: 2
  compute_jitter: 0.5%
  model: {family: llama, layers: 4, hidden: 128, heads: 8, sequence: 64, vocabulary: 512, experts: 4, top_k: 2}
  parallel: {tp: 2, sequence_parallel: true, ep: 4, pp: 2, dp: 4}
  batch: {micro: 1, global: 16}
  network: {placement: rail, ep_algorithm: pxn}
YAML

# All examples are accepted, and say what an iteration sends.
for f in "$WH_SOURCE_DIR"/examples/{gpt,llama,moe}-*.yaml; do
    expect 0 "$WORMHOLE" check "$f"
    grep -q '^# all  *[0-9]' stdout || fail "$f: no counts"
done
is "$(ls "$WH_SOURCE_DIR"/examples/{gpt,llama,moe}-*.yaml | wc -l)" 19 "examples of training"
expect 0 "$WORMHOLE" check "$WH_SOURCE_DIR/examples/gpt-13b-128.yaml"
is "$(awk '$2 == "all" {print $3, $4, $5, $8, $9}' stdout)" \
    "288 2048 555173232640 555174272 2220697088" "counts of GPT-13B"

# What check prints is a scenario that runs to the same results; flows are those that were announced.
expect 0 "$WORMHOLE" check s.yaml
cp stdout resolved.yaml
flows=$(awk '$2 == "all" {print $4}' stdout)
expect 0 "$WORMHOLE" run s.yaml -o a
says stdout "exposed communication"
expect 0 "$WORMHOLE" run resolved.yaml -o b --quiet
cmp a/fct.csv b/fct.csv || fail "the resolved scenario gives other results"
cmp a/collectives.csv b/collectives.csv || fail "the resolved scenario gives other collectives"
is "$(json a/summary.json "j['flows']['finished']")" $((2 * flows)) "flows of two iterations"

python3 - <<'PY' || fail "the report does not hold together"
import csv, json
j = json.load(open("a/summary.json"))
w = j["workload"]
assert w["ranks"] == 16 and w["iterations_finished"] == 2, w
assert len(w["iteration_times_s"]) == 2
mean = sum(w["iteration_times_s"]) / 2
assert abs(j["iteration_time_s"] - mean) < 1e-12, (j["iteration_time_s"], mean)
whole = 2 * mean
for r in w["by_rank"]:
    parts = r["compute_s"] + r["exposed_communication_s"] + r["idle_s"]
    assert r["compute_s"] > 0 and abs(parts - whole) < 1e-9, (r, whole)
rows = list(csv.DictReader(open("a/collectives.csv")))
assert len(rows) == w["collectives"] == sum(c["count"] for c in w["by_collective"])
assert w["bytes"] == j["flows"]["bytes"]
trace = json.load(open("a/trace.json"))["traceEvents"]
assert {e["pid"] for e in trace} == set(range(16))
assert any(e.get("name") == "attention" for e in trace)
PY

# Seeds: another one gives other computation times.
expect 0 "$WORMHOLE" run s.yaml -o c --quiet --set workload.seed=7
[ "$(json a/summary.json "j['iteration_time_s']")" = "$(json c/summary.json "j['iteration_time_s']")" ] &&
    fail "the seed has no effect"

# A stop before the end: no iteration time, and the run says so.
expect 0 "$WORMHOLE" run s.yaml -o d --end 1us
is "$(json d/summary.json "j['iteration_time_s']")" None "iteration time of a run cut short"
says stdout "none finished"

expect 2 "$WORMHOLE" check s.yaml --set workload.parallel.dp=8
says stderr "found 32 ranks"
expect 2 "$WORMHOLE" check s.yaml --set workload.model.top_k=5
says stderr "s.yaml"
says stderr "top_k 5 of 4 experts"
expect 2 "$WORMHOLE" check s.yaml --set workload.model.layer=5
says stderr 'the nearest is "layers"'
expect 2 "$WORMHOLE" check s.yaml --set workload.compute.efficiency=0
says stderr "workload.compute.efficiency"
finish
