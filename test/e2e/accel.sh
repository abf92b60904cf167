# Skipping and the memo: what they change and what not, files of the memo in every condition, and
# command lines that are refused.
. "$(dirname "$0")/helpers.bash"
: "${WH_SOURCE_DIR:?the source tree}"
examples=$WH_SOURCE_DIR/examples

cat >incast.yaml <<'YAML'
name: incast
topology: {kind: single-switch, hosts: 9}
congestion_control: {kind: dctcp}
flows:
  - {pattern: incast, dst: 8, bytes: 20MB}
YAML
cp "$examples/gpt-7b-64.yaml" "$examples/torus-ring.yaml" "$examples/leaf-spine-permutation.yaml" .

# refused TEXT ARGUMENTS... - exit code 2, and it says so.
refused() {
    expect 2 "$WORMHOLE" "${@:2}"
    says stderr "$1"
}

# summary DIR - without what depends on the host, and on what the memo knows.
summary() {
    python3 - "$1/summary.json" <<'PY'
import json, sys
j = json.load(open(sys.argv[1]))
for key in j["host_dependent_keys"] + j["memo_dependent_keys"]:
    *path, last = key.split(".")
    o = j
    for k in path:
        o = o[k]
    o.pop(last, None)
print(json.dumps(j))
PY
}

# The memo changes no result, nor do threads; what is listed as the same is the same.
for s in incast gpt-7b-64 torus-ring leaf-spine-permutation; do
    expect 0 "$WORMHOLE" run $s.yaml -o $s-none --no-memo --threads 1 --quiet
    for n in 1 2 4; do
        expect 0 "$WORMHOLE" run $s.yaml -o $s-$n --memo exact --threads $n --quiet
        cmp $s-$n/fct.csv $s-none/fct.csv || fail "$s: the memo changes results, $n threads"
        is "$(summary $s-$n)" "$(summary $s-none)" "$s: summary, $n threads"
        is "$(json $s-$n/summary.json "j['memo'], j['skipping']")" \
            "$(json $s-1/summary.json "j['memo'], j['skipping']")" "$s: savings, $n threads"
    done
done
is "$(json gpt-7b-64-1/summary.json "j['skipping']['on'], j['skipping']['rule'], j['skipping']['error_budget'], j['memo']['lens']")" \
    "(True, 'own', 0.01, 'exact')" "defaults"
is "$(json gpt-7b-64-none/summary.json "j['memo']['lens'], j['memo']['lookups']")" "('off', 0)" "no memo"
python3 - <<'PY' || fail "the savings do not hold together"
import json
for s in ("gpt-7b-64-1", "incast-1"):
    j = json.load(open(f"{s}/summary.json"))
    k, m = j["skipping"], j["memo"]
    assert k["skips"] > 0 and k["skipped_packets"] > 0 and k["skipped_hops"] >= k["skipped_packets"], s
    share = k["skipped_hops"] / (k["skipped_hops"] + j["packet_hops"])
    assert abs(share - k["skipped_share_of_packet_hops"]) < 1e-9 and share > 0.5, (s, share)
    assert 0.5 < k["skipped_share_of_flow_time"] < 1, s
    assert 0 < sum(k["executed_events"].values()) <= j["events"], s
    assert sum(k["reasons"].values()) <= j["events"], s
    assert m["hits"] + m["coalesced"] <= m["lookups"] and m["replayed_hops"] <= j["packet_hops"], s
    assert m["store"] is None and m["loaded"] == m["saved"] == 0, s
j = json.load(open("gpt-7b-64-1/summary.json"))
assert j["memo"]["hits"] + j["memo"]["coalesced"] > 0.9 * j["memo"]["lookups"] > 0
assert j["events"] < 0.2 * json.load(open("gpt-7b-64-none/summary.json"))["events"]
PY

# Without both, the serial engine's results; with skipping, results within the budget.
expect 0 "$WORMHOLE" run incast.yaml -o plain --no-steady --no-memo --threads 2 --quiet
expect 0 "$WORMHOLE" run incast.yaml -o serial --engine serial
says stderr "nothing is skipped or taken from the memo: the serial engine executes every packet"
cmp plain/fct.csv serial/fct.csv || fail "without skipping and memo the results are not the serial engine's"
is "$(json serial/summary.json "j['skipping']['on'], j['memo']['lens'], j['notes'][-1][:19]")" \
    "(False, 'off', 'nothing was skipped')" "a serial run"
expect 0 "$WORMHOLE" run incast.yaml -o memo-only --no-steady --quiet
cmp plain/fct.csv memo-only/fct.csv || fail "a memo alone changes results"
expect 0 "$WORMHOLE" compare plain incast-1 --max-mean 5%
is "$(json plain/summary.json "j['flows']['acked_bytes']")" \
    "$(json incast-1/summary.json "j['flows']['acked_bytes']")" "bytes"

# HPCC files: neither, unless asked for.
make_incast 8 5MB
sed -i '/PFC_OUTPUT_FILE/d' config.txt
expect 0 "$WORMHOLE" run --hpcc config.txt -o hpcc --quiet
is "$(json hpcc/summary.json "j['skipping']['on'], j['memo']['lens']")" "(False, 'off')" "an HPCC configuration"
expect 0 "$WORMHOLE" run --hpcc config.txt -o hpcc-asked --error-budget 2% --memo exact --quiet
is "$(json hpcc-asked/summary.json "j['skipping']['on'], j['skipping']['error_budget'], j['memo']['lens']")" \
    "(True, 0.02, 'exact')" "asked for"

# Logs need every packet, and that is said.
{
    cat incast.yaml
    printf 'logs:\n  queue: {file: queue.csv, interval: 10us}\n'
} >logged.yaml
expect 0 "$WORMHOLE" run logged.yaml -o logged
is "$(grep -c 'nothing is skipped' stderr)" 1 "a line that says why"
says stderr "logs need every packet"
cmp logged/fct.csv plain/fct.csv || fail "a run with logs is not that of every packet"
expect 0 "$WORMHOLE" run logged.yaml -o logged --quiet
[ -s stderr ] && fail "said with --quiet, though nobody asked for it"
expect 0 "$WORMHOLE" run logged.yaml -o logged --quiet --steady
says stderr "logs need every packet"

# The first result that tools/quickstart shows: a billion packet-hops, hardly any of them executed.
expect 0 "$WORMHOLE" run "$examples/gpt-13b-128.yaml" -o quickstart --quiet
is "$(json quickstart/summary.json "j['skipping']['skipped_hops'] + j['packet_hops'] > 1e9, j['events'] < 1e6")" \
    "(True, True)" "events of GPT-13B"

# What is printed.
expect 0 "$WORMHOLE" run gpt-7b-64.yaml -o t
says stdout "fold saving"
says stdout "of flow time, in"
says stdout "from the memo   "
expect 0 "$WORMHOLE" run incast.yaml -o t --explain --quiet
for line in "executed events, by what they were for" "transient" "conditions that held" \
    "flows that held partitions back most" "ports that held partitions back most" \
    "ever coupled what crosses them (switch.buffer): 0"; do
    says stdout "$line"
done
# With little buffer the switch has to pause: it couples what crosses it, and that has all events.
expect 0 "$WORMHOLE" run incast.yaml -o t --explain --set switch.buffer=1MiB
says stdout "coupled         100.0 % of events, in partitions held together by the buffers of 1 switches"
says stdout "ever coupled what crosses them (switch.buffer): 1"
expect 0 "$WORMHOLE" run incast.yaml -o t --explain --quiet --no-steady
says stdout "Nothing was skipped: skipping is off"
# The paper's rule is another one, and overrides reach the detector.
expect 0 "$WORMHOLE" run incast.yaml -o paper --steady-rule paper --theta 10% --paper-samples 200 --quiet
is "$(json paper/summary.json "j['skipping']['rule']")" paper "rule"
expect 0 "$WORMHOLE" run incast.yaml -o long --steady-window 1s --quiet
is "$(json long/summary.json "j['skipping']['skips']")" 0 "skips with a window longer than the run"

# bench collective: every packet, unless something else is asked for; a memo changes nothing.
for o in "" "--memo exact" "--steady"; do
    expect 0 "$WORMHOLE" bench collective all_reduce -b 64M -e 64M $o
    mv stdout "bench${o:+-${o#--}}"
done
cmp bench "bench-memo exact" || fail "bench collective: a memo changes the table"
python3 - <<'PY' || fail "bench collective --steady is off"
a, b = ([float(x) for l in open(f) if l[0] != "#" for x in (l.split()[5],)][0] for f in ("bench", "bench-steady"))
assert abs(b - a) < 0.02 * a, (a, b)
PY

# bench scaling: as run; every packet if the serial engine is compared with.
expect 0 "$WORMHOLE" bench scaling gpt-7b-64.yaml --threads 1,2 --repetitions 1 --quiet --json s.json
says stdout "All runs had the same results"
is "$(json s.json "j['rows'][0]['packet_hops'] < 100e6")" True "packet-hops of a run that skips"
expect 0 "$WORMHOLE" bench scaling incast.yaml --threads 1 --repetitions 1 --quiet --engine-check
says stdout "All runs had the same results"
refused "found --engine-check with skipping or a memo" bench scaling incast.yaml --engine-check --steady

# A file: the second run executes far less, with the same results.
expect 0 "$WORMHOLE" run gpt-7b-64.yaml -o cold --memo-file m.memo
says stdout "0 entries loaded"
expect 0 "$WORMHOLE" run gpt-7b-64.yaml -o warm --memo-file m.memo --threads 2
cmp cold/fct.csv warm/fct.csv || fail "a warm memo changes results"
cmp cold/fct.csv gpt-7b-64-none/fct.csv || fail "a memo with a file changes results"
is "$(summary warm)" "$(summary cold)" "summary of the second run"
python3 - <<'PY' || fail "the second run does not use what the first one has learnt"
import json
c, w = (json.load(open(f"{d}/summary.json")) for d in ("cold", "warm"))
assert w["events"] <= 0.2 * c["events"], (w["events"], c["events"])
assert c["memo"]["saved"] > 0 == w["memo"]["saved"] and w["memo"]["loaded"] > 0
assert w["memo"]["store"] == "m.memo" and w["memo"]["read_only"] is False
PY
# Other settings are kept apart.
expect 0 "$WORMHOLE" run gpt-7b-64.yaml -o other --memo-file m.memo --error-budget 2% --quiet
is "$(json other/summary.json "j['memo']['loaded']")" 0 "entries of other settings"
eta=congestion_control.hpcc.target_util=0.9
expect 0 "$WORMHOLE" run gpt-7b-64.yaml -o eta --set $eta --no-memo --quiet
expect 0 "$WORMHOLE" run gpt-7b-64.yaml -o eta-memo --set $eta --memo-file m.memo --quiet
is "$(json eta-memo/summary.json "j['memo']['loaded']")" 0 "entries of another congestion control"
cmp eta/fct.csv eta-memo/fct.csv || fail "what other settings have left in the file changes results"
cmp -s eta/fct.csv cold/fct.csv && fail "a setting that was to change results does not"
expect 0 "$WORMHOLE" memo info m.memo
says stdout "settings        3"
expect 0 "$WORMHOLE" memo verify m.memo
says stdout "all sound"

# The fcg lens: a file of its own kind of entries, from which a second run executes little;
# the same results for any number of threads; why look-ups missed; times close to those without.
jitter=workload.compute_jitter=0.5%
for n in 1 4; do
    expect 0 "$WORMHOLE" run gpt-7b-64.yaml -o fcg-$n --memo fcg --set $jitter --threads $n --quiet
done
cmp fcg-1/fct.csv fcg-4/fct.csv || fail "fcg: other results on 4 threads"
expect 0 "$WORMHOLE" run gpt-7b-64.yaml -o fcg-cold --memo fcg --memo-file fcg.memo --set $jitter --quiet
cmp fcg-1/fct.csv fcg-cold/fct.csv || fail "fcg: a file that is new changes results"
expect 0 "$WORMHOLE" run gpt-7b-64.yaml -o fcg-warm --memo fcg --memo-file fcg.memo --set $jitter --explain
says stdout "look-ups that found nothing"
says stdout "after a control event: hits and coalesced"
expect 0 "$WORMHOLE" run gpt-7b-64.yaml -o fcg-third --memo fcg --memo-file fcg.memo --set $jitter --quiet
expect 0 "$WORMHOLE" run gpt-7b-64.yaml -o none-jitter --no-memo --set $jitter --quiet
python3 - <<'PY' || fail "fcg: a warm file, or accuracy"
import json
names = ("fcg-cold", "fcg-warm", "fcg-third", "none-jitter")
c, w, t, n = (json.load(open(f"{d}/summary.json")) for d in names)
m = w["memo"]
assert m["lens"] == "fcg" and m["loaded"] > 0, m
# what is left: of stages that a control event cuts short, up to a round trip each; and stages that
# the first run waited for where the second one, which need not wait, looks them up
assert w["events"] < 0.2 * c["events"], (w["events"], c["events"])
assert t["events"] < 0.05 * c["events"], (t["events"], c["events"])
assert sum(m["stages"]["missed"].values()) < 0.01 * m["lookups"], m
for s in (c, w, t):
    a, b = s["fct"]["mean_ns"], n["fct"]["mean_ns"]
    assert abs(a - b) < 0.005 * b, (a, b)
PY
expect 0 "$WORMHOLE" run gpt-7b-64.yaml -o other --memo-file fcg.memo --set $jitter --quiet
is "$(json other/summary.json "j['memo']['loaded']")" 0 "entries of the other lens"

# broken NAME TEXT - a run with this file says so in one line and goes on without.
broken() {
    expect 0 "$WORMHOLE" run gpt-7b-64.yaml -o broken --memo-file "$1" --quiet
    is "$(grep -c warning stderr)" 1 "$1: warnings"
    says stderr "the memo is kept without its file: $1"
    cmp broken/fct.csv cold/fct.csv || fail "$1: other results"
    is "$(json broken/summary.json "j['memo']['store'], j['memo']['lens']")" "(None, 'exact')" "$1"
    expect 2 "$WORMHOLE" memo info "$1"
    says stderr "$1"
    expect 2 "$WORMHOLE" memo verify "$1"
}
cp m.memo short.memo
truncate -s 20000 short.memo
broken short.memo
cp m.memo damaged.memo
python3 -c '
f = open("damaged.memo", "r+b")
f.seek(8192)
f.write(b"\xa5" * 16384)'
broken damaged.memo
echo "name: this is no memo" >foreign.memo
cp foreign.memo before
broken foreign.memo
cmp foreign.memo before || fail "a foreign file was written to"
mkdir folder.memo
broken folder.memo
expect 2 "$WORMHOLE" memo clear foreign.memo
cmp foreign.memo before || fail "a foreign file was cleared"
expect 0 "$WORMHOLE" memo clear damaged.memo
expect 0 "$WORMHOLE" run gpt-7b-64.yaml -o mended --memo-file damaged.memo --quiet
is "$(json mended/summary.json "j['memo']['saved'] > 0")" True "a cleared file is used"
expect 0 "$WORMHOLE" memo clear m.memo
expect 0 "$WORMHOLE" memo info m.memo
says stdout "settings        0"

# A file that may only be read; root may write everything, so somebody else has to run it.
expect 0 "$WORMHOLE" run gpt-7b-64.yaml -o cold --memo-file m.memo --quiet
chmod 444 m.memo m.memo-lock
mkdir readers
chmod 755 "$scratch"
chmod 777 readers
as_other=
[ "$(id -u)" -eq 0 ] && as_other="setpriv --reuid=65534 --clear-groups"
if $as_other "$WORMHOLE" version >/dev/null 2>&1; then
    expect 0 $as_other "$WORMHOLE" run gpt-7b-64.yaml -o readers/a --memo-file m.memo --quiet
    is "$(grep -c warning stderr)" 1 "read-only: warnings"
    says stderr "may only be read"
    cmp readers/a/fct.csv cold/fct.csv || fail "read-only: other results"
    is "$(json readers/a/summary.json "j['memo']['read_only'], j['memo']['loaded'] > 0, j['memo']['saved']")" \
        "(True, True, 0)" "read-only"
fi

# What is wrong is refused, before anything is made.
refused "--error-budget: found '0', expected" run incast.yaml --error-budget 0 -o bad
refused "--error-budget: found '60%', expected" run incast.yaml --error-budget 60% -o bad
refused "--steady-rule: found 'mine', expected own or paper" run incast.yaml --steady-rule mine -o bad
refused "--theta: found '0', expected" run incast.yaml --steady-rule paper --theta 0 -o bad
refused "--paper-samples: found 'x', expected" run incast.yaml --steady-rule paper --paper-samples x -o bad
refused "--steady-window: found '10', expected" run incast.yaml --steady-window 10 -o bad
refused "--steady-kappa: found '0', expected" run incast.yaml --steady-kappa 0 -o bad
refused "--steady-eps: found '-1', expected" run incast.yaml --steady-eps -1 -o bad
refused "--memo: found 'fluid', expected exact, fcg or off" run incast.yaml --memo fluid -o bad
refused "--memo-size: found '1000', expected" run incast.yaml --memo-size 1000 -o bad
refused "found --theta without --steady-rule paper" run incast.yaml --theta 5% -o bad
refused "found --steady-kappa with --steady-rule paper" run incast.yaml --steady-rule paper --steady-kappa 3 -o bad
refused "found --error-budget with --no-steady" run incast.yaml --no-steady --error-budget 1% -o bad
refused "found --memo-file without a memo" run incast.yaml --no-memo --memo-file x.memo -o bad
refused "--memo: found 'x', expected" run --goal g --topo t --memo x -o bad
refused "--steady" noise incast.yaml --steady -o bad
[ -e bad ] && fail "a folder for a command line that was refused"
[ -e x.memo ] && fail "a memo for a command line that was refused"
expect 2 "$WORMHOLE" memo
expect 2 "$WORMHOLE" memo show m.memo
says stderr "expected info, verify or clear"
expect 2 "$WORMHOLE" memo info nowhere.memo
says stderr "nowhere.memo"
[ -e nowhere.memo ] && fail "info made a file"
expect 0 "$WORMHOLE" memo --help
says stdout "usage: wormhole memo"
finish
