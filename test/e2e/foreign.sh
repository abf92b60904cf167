# Workloads of other tools: every sample runs to the result that is known for it, refused ones are
# refused, outputs agree with one another, and what is exported can be run again.
. "$(dirname "$0")/helpers.bash"
D=$TEST_DATA_DIR

run() {
    "$WORMHOLE" run --quiet "$@"
}

printf '3 1 2\n2\n0 2 400Gbps 0.0005ms 0\n1 2 400Gbps 0.0005ms 0\n' >two_hosts.txt
printf '4 1 3\n3\n0 3 400Gbps 0.0005ms 0\n1 3 400Gbps 0.0005ms 0\n2 3 400Gbps 0.0005ms 0\n' >three_hosts.txt

# GOAL: on an .topo, with the end times as LogGOPSim prints them; text and binary alike.
expect 0 "$WORMHOLE" run --goal "$D/goal/pingpong.goal" --topo "$D/htsim/leafspine8.topo" -o goal \
    --loggops L=2500,o=0
says stderr "--loggops L: accepted, no effect"
grep '^Host' stdout >text_ends
is "$(wc -l <text_ends)" 2 "a line per host"
expect 0 "$WORMHOLE" run --goal "$D/goal/pingpong.bin" --topo "$D/htsim/leafspine8.topo" -o goal2 \
    --loggops o=0
grep '^Host' stdout | cmp - text_ends || fail "binary and text end at different times"
is "$(json goal/summary.json "j['iteration_time_s'] > 0 and j['complete']")" True "goal"
for f in summary.json fct.csv fct.txt ranks.csv trace.json; do
    [ -f "goal/$f" ] || fail "no $f for a schedule"
done
for s in ring4 wildcard_irequires; do
    expect 0 run --goal "$D/goal/$s.goal" --topo "$D/astra/ns3_topology_4.txt" -o "$s"
done
is "$(json ring4/summary.json "j['flows']['bytes']")" $((4 * 6 * 4096)) "ring of 4"
expect 2 run --goal "$D/goal/bad/undefined_label.goal" --topo "$D/htsim/leafspine8.topo"
says stderr "undefined_label.goal:4"
expect 2 run --goal "$D/goal/bad/unmatched_recv.goal" --topo "$D/htsim/leafspine8.topo" -o deadlock
says stderr 'rank 0, stream 0: operation "a" receives 8 B from rank 1 with tag 1'
is "$(json deadlock/summary.json "j['complete']")" False "a deadlock is no complete run"
expect 2 run --goal "$D/goal/ring4.goal" --topo two_hosts.txt
says stderr "4"

# htsim: the order of the chain; refusals.
expect 0 run --cm "$D/htsim/chain.cm" --topo "$D/htsim/leafspine8.topo" -o chain --cc none
python3 - <<'PY' || fail "chain.cm: wrong order"
import csv
r = {(int(x["src"]), int(x["dst"])): x for x in csv.DictReader(open("chain/fct.csv"))}
end = lambda k: float(r[k]["start_ns"]) + float(r[k]["fct_ns"])
assert float(r[1, 2]["start_ns"]) == end((0, 1))
assert float(r[3, 4]["start_ns"]) == 50000
assert float(r[5, 6]["start_ns"]) == end((3, 4)) > end((1, 2)) > end((0, 1))
PY
expect 0 run -tm "$D/htsim/incast4.cm" -topo "$D/htsim/leafspine8.topo" -nodes 8 -end 2000 -o incast
is "$(json incast/summary.json "j['flows']['finished']")" 4 "incast"
expect 0 run --cm "$D/htsim/one16.cm" --topo "$D/htsim/fattree16.topo" -o one16
expect 2 run --cm "$D/htsim/chain.cm" --topo "$D/htsim/leafspine8.topo" -nodes 432
says stderr "found Nodes 8 and -nodes 432"
expect 2 run --cm "$D/htsim/one16.cm" --topo "$D/htsim/leafspine8.topo"
says stderr "16"
expect 2 run --cm "$D/htsim/bad/count_mismatch.cm" --topo "$D/htsim/leafspine8.topo"
says stderr "count_mismatch.cm:"
expect 2 run --cm "$D/htsim/incast4.cm" --topo "$D/htsim/bad/duplicate_tier_key.topo"
says stderr "duplicate_tier_key.topo:8"

# SimAI: volumes, tables, and a folder that the configuration does not know of.
S="-n $D/simai/topo_4gpu -c $D/simai/simai_min.conf"
for w in tp2_dp2 moe_ep2; do
    expect 0 run --simai -w "$D/simai/workload_$w.txt" $S -o "$w/deep"
    for f in collectives.csv layers.csv ranks.csv trace.json fct.txt; do
        [ -f "$w/deep/$f" ] || fail "no $f for a SimAI workload"
    done
done
expect 0 "$WORMHOLE" run --simai -t 4 -w "$D/simai/workload_micro.txt" $S -o micro
says stderr "-t: accepted, no effect"
says stdout "# Avg bus bandwidth"
grep -q '^ *16777216 *16777216 *uint8 *sum' stdout || fail "no row of 16 MiB in the table"
for b in short_row:3 row_count:2 unknown_comm:3; do
    expect 2 run --simai -w "$D/simai/bad/${b%:*}.txt" $S -o bad
    says stderr "${b%:*}.txt:${b#*:}: "
done
expect 2 run --simai -w "$D/simai/workload_tp2_dp2.txt"
says stderr "-n TOPOLOGY"

# collectives.csv follows from fct.csv: times, bytes, bandwidths.
python3 - <<'PY' || fail "collectives.csv does not follow from fct.csv"
import csv
from decimal import Decimal as N
flows = list(csv.DictReader(open("tp2_dp2/deep/fct.csv")))
rows = list(csv.DictReader(open("tp2_dp2/deep/collectives.csv")))
used = 0
for c in rows:
    m = set(c["members"].split(","))
    mine = [f for f in flows if f["src"] in m and f["dst"] in m and
            N(c["start_ns"]) <= N(f["start_ns"]) < N(c["end_ns"])]
    used += len(mine)
    assert len(mine) == int(c["flows"])
    assert sum(int(f["bytes"]) for f in mine) == int(c["sent_bytes"])
    assert int(c["sent_bytes"]) == 2 * (len(m) - 1) * int(c["bytes"])
    assert min(N(f["start_ns"]) for f in mine) == N(c["start_ns"])
    assert max(N(f["start_ns"]) + N(f["fct_ns"]) for f in mine) == N(c["end_ns"])
    assert N(c["end_ns"]) - N(c["start_ns"]) == N(c["time_ns"])
    algbw = float(c["bytes"]) / float(c["time_ns"])
    assert abs(float(c["algbw_GBps"]) - algbw) < 1e-6
    assert abs(float(c["busbw_GBps"]) - algbw * 2 * (len(m) - 1) / len(m)) < 1e-6
assert used == len(flows) == 32
for l in csv.DictReader(open("tp2_dp2/deep/layers.csv")):
    for p in ("fwd", "wg", "ig"):
        total = float(l[p + "_total_comm_us"] or 0)
        assert float(l[p + "_exposed_comm_us"]) <= total + 1e-9
PY

# ASTRA-sim: both kinds of networks, and a file of theirs for each kind of configuration.
A="--system-configuration=$D/astra/system.json --remote-memory-configuration=$D/astra/remote_memory.json
   --comm-group-configuration=$D/astra/comm_group.json
   --logical-topology-configuration=$D/astra/logical_topology_4.json"
for n in network_analytical.yml ns3_topology_4.txt; do
    for w in ar4 grp4; do
        expect 0 run --workload-configuration="$D/astra/$w" $A --network-configuration="$D/astra/$n" \
            --finished-lines -o "$w"
        is "$(grep -c '^sys\[[0-3]\] finished, [0-9]* cycles, exposed communication [0-9]* cycles\.$' stdout)" \
            4 "lines of ASTRA-sim"
    done
done
is "$(json ar4/summary.json "j['flows']['bytes']")" $((4 * 1536 * 1024)) "ar4"
is "$(json grp4/summary.json "j['flows']['bytes']")" \
    $((2 * 256 * 1024 + 2 * 128 * 1024 + 4 * 1536 * 1024)) "grp4"
expect 0 run --astra --workload-configuration="$D/astra/pp2" --network-configuration=two_hosts.txt \
    -o pp2 --finished-lines
says stderr "no logical topology: one dimension of 2 ranks"
python3 -c 'import json; json.load(open("pp2/trace.json"))' || fail "trace.json is no JSON"

# All four numbers of ranks in one message.
ranks() {
    expect 2 run --astra --workload-configuration="$1" --network-configuration="$2" \
        --logical-topology-configuration="$D/astra/logical_topology_$3.json"
    says stderr "$4 trace files, a logical topology of $3 ranks, a network of $5 hosts and no groups"
}
ranks "$D/astra/ar4" "$D/astra/ns3_topology_4.txt" 2 4 4
ranks "$D/astra/ar4" three_hosts.txt 4 4 3
for r in 0 1 2; do cp "$D/astra/ar4.$r.et" "less.$r.et"; done
ranks ./less "$D/astra/ns3_topology_4.txt" 4 3 4
for b in et_truncated et_cycle; do
    expect 2 run --astra --workload-configuration="$D/astra/bad/$b" --network-configuration=two_hosts.txt
    says stderr "$b.0.et"
done

# Rank 3 never comes to the all-to-all of group 2: node 10 is taken out of its trace.
for r in 0 1 2; do cp "$D/astra/grp4.$r.et" "gone.$r.et"; done
python3 - "$D/astra/grp4.3.et" <<'PY'
import sys

def varint(b, i):
    v = shift = 0
    while True:
        v |= (b[i] & 127) << shift
        shift += 7
        i += 1
        if b[i - 1] < 128:
            return v, i

def fields(b):  # (number, value, its bytes) of a message
    i = 0
    while i < len(b):
        start = i
        key, i = varint(b, i)
        v, i = varint(b, i)
        if key & 7 == 2:
            i += v
        yield key >> 3, v, b[start:i]

data, out, i = open(sys.argv[1], "rb").read(), b"", 0
while i < len(data):
    n, i = varint(data, i)
    m, i = data[i:i + n], i + n
    if out and any(f == 1 and v == 10 for f, v, _ in fields(m)):
        continue
    if out:
        m = b"".join(raw for f, _, raw in fields(m) if f != 5)
    assert len(m) < 16384
    out += bytes([len(m) & 127 | 128, len(m) >> 7]) + m
open("gone.3.et", "wb").write(out)
PY
expect 2 run --astra --workload-configuration=gone $A \
    --network-configuration="$D/astra/ns3_topology_4.txt" -o gone
says stderr "group '2', call 0: all_to_all of 262144 B (operation 10)"
says stderr "waiting: 2; absent: 3"

# Exports: traces, schedule and flows of the same workload send the same bytes.
expect 0 run --astra --workload-configuration="$D/astra/grp4" $A \
    --network-configuration="$D/astra/ns3_topology_4.txt" -o first \
    --export-et again --export-goal again.goal --export-flows again_flows.txt
expect 0 run --astra --workload-configuration=again --comm-group-configuration=again.groups.json \
    --network-configuration="$D/astra/ns3_topology_4.txt" -o second
expect 0 run --goal again.goal --topo "$D/astra/ns3_topology_4.txt" -o third
for o in second third; do
    is "$(json $o/summary.json "j['flows']['bytes']")" "$(json first/summary.json "j['flows']['bytes']")" \
        "bytes of the export $o"
done
is "$(head -1 again_flows.txt)" "$(json first/summary.json "j['flows']['total']")" "flows in the file"
expect 2 run --goal "$D/goal/ring4.goal" --topo "$D/astra/ns3_topology_4.txt" --export-et x

# A training workload of ours, exported and run as traces.
cat >llm.yaml <<'YAML'
name: small
topology: {kind: single-switch, hosts: 4, host_link: {rate: 400Gbps, delay: 500ns}}
workload:
  model: {family: gpt, layers: 2, hidden: 256, heads: 4, ffn: 1024, sequence: 64, vocabulary: 512}
  parallel: {tp: 1, pp: 2, dp: 2}
  batch: {micro: 1, global: 4}
  compute: {peak_tflops: 312, efficiency: 45%}
YAML
expect 0 run llm.yaml -o llm --export-et llm --export-goal llm.goal --export-flows llm_flows.txt
expect 0 run --astra --workload-configuration=llm --comm-group-configuration=llm.groups.json \
    --topo llm.yaml -o llm_et
expect 0 run --goal llm.goal --topo llm.yaml -o llm_goal
for o in llm_et llm_goal; do
    is "$(json $o/summary.json "j['flows']['bytes']")" "$(json llm/summary.json "j['flows']['bytes']")" \
        "bytes of $o"
done

# The same again: the same bytes.
expect 0 run --simai -w "$D/simai/workload_tp2_dp2.txt" $S -o repeated
for f in fct.csv collectives.csv layers.csv ranks.csv trace.json; do
    cmp "repeated/$f" "tp2_dp2/deep/$f" || fail "$f differs between equal runs"
done

# Outputs that cannot be opened are refused before the run.
for x in et goal flows; do
    expect 2 run llm.yaml --export-$x missing/folder/x -o unwritable
    says stderr "--export-$x"
done

# An interrupted run writes what it has.
cat >long.goal <<'GOAL'
num_ranks 2
rank 0 {
send 100000000000b to 1
}
rank 1 {
recv 100000000000b from 0
}
GOAL
"$WORMHOLE" run --quiet --no-steady --goal long.goal --topo two_hosts.txt -o interrupted 2>stderr &
sleep 1
kill -INT $!
wait $!
is $? 1 "exit code of an interrupted run"
says stderr "interrupted by SIGINT"
is "$(json interrupted/summary.json "j['complete']")" False "an interrupted run"

# Mistakes on the command line.
expect 2 run --goal a.goal --cm b.cm
says stderr "two kinds of workloads"
expect 2 run --goal "$D/goal/ring4.goal"
says stderr "--topo NETWORK"
expect 2 run --goal "$D/goal/ring4.goal" --topo two_hosts.txt --loggops x=3
says stderr "parameter 'x'"
expect 0 "$WORMHOLE" run --goal --help
says stdout "--export-et PREFIX"
finish
