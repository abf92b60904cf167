# A run writes its outputs where it should, they agree with one another, and repeat byte for byte.
. "$(dirname "$0")/helpers.bash"
make_incast 8 100KB

expect 0 "$WORMHOLE" run --hpcc config.txt -o deep/er/out
says stdout "8 finished of 8"
says stdout "congestion ctl  hpcc"
says stderr "congestion control hpcc"
for f in fct.csv summary.json fct_out.txt pfc_out.txt; do
    [ -f "deep/er/out/$f" ] || fail "no $f in the folder"
done
is "$(wc -l <deep/er/out/fct.csv)" 9 "header and a line per flow"
is "$(wc -l <deep/er/out/fct_out.txt)" 8 "a line per flow"
is "$(json deep/er/out/summary.json "j['flows']['finished']")" 8 finished
is "$(json deep/er/out/summary.json "j['complete']")" True complete
is "$(awk 'NF != 8' deep/er/out/fct_out.txt | wc -l)" 0 "HPCC lines have 8 columns"

# fct.csv, fct.txt and the summary tell the same.
python3 - <<'PY' || fail "outputs disagree"
import csv, json
rows = list(csv.DictReader(open("deep/er/out/fct.csv")))
txt = [l.split() for l in open("deep/er/out/fct_out.txt")]
j = json.load(open("deep/er/out/summary.json"))
fct = [float(r["fct_ns"]) for r in rows]
assert abs(sum(fct) / len(fct) - j["fct"]["mean_ns"]) < 1e-6 * j["fct"]["mean_ns"]
assert max(fct) == j["fct"]["max_ns"]
ends = [int(t[5]) + int(t[6]) for t in txt]
assert ends == sorted(ends), "completion order"
by_src = {int(r["src"]): r for r in rows}
for t in txt:
    r = by_src[int(t[0], 16) >> 8 & 0xffff]
    assert float(r["fct_ns"]) == float(t[6]), (r, t)
    assert float(r["ideal_fct_ns"]) == float(t[7])
    assert r["sport"] == t[2] and r["dport"] == t[3] and r["bytes"] == t[4]
    assert abs(float(r["slowdown"]) - max(1, int(t[6]) / int(t[7]))) < 1e-6
assert j["flows"]["bytes"] == 800000 == j["flows"]["acked_bytes"]
PY

# Without -o the configuration's paths count, relative to the working directory.
mkdir sub
expect 0 "$WORMHOLE" run --hpcc config.txt --set FCT_OUTPUT_FILE=sub/x.txt
[ -f sub/x.txt ] || fail "FCT_OUTPUT_FILE is not honoured"
[ -f wormhole-out/summary.json ] || fail "no default folder"
cmp sub/x.txt deep/er/out/fct_out.txt || fail "the same run gave another fct.txt"

# The same again: the same bytes, but for what depends on the host.
expect 0 "$WORMHOLE" run --hpcc config.txt -o again --threads 2
for f in fct.csv fct_out.txt pfc_out.txt; do
    cmp "again/$f" "deep/er/out/$f" || fail "$f differs between equal runs"
done
python3 - <<'PY' || fail "summaries of equal runs differ"
import json
def load(p):
    j = json.load(open(p))
    for k in j.pop("host_dependent_keys"):
        del j[k]
    return json.dumps(j)
assert load("again/summary.json") == load("deep/er/out/summary.json")
PY

expect 0 "$WORMHOLE" run --hpcc config.txt -o q --quiet --fct-csv no
[ -s stdout ] && fail "--quiet printed a table"
[ -s stderr ] && fail "--quiet printed on stderr"
[ -e q/fct.csv ] && fail "--fct-csv no wrote it"
finish
