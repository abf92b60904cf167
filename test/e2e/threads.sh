# --threads change nothing but how long it takes, skipping included, and without skipping nor does
# --engine: the same bytes in every output, but for the keys that summary.json itself lists. What is
# wrong is refused in words.
. "$(dirname "$0")/helpers.bash"

# summary DIR ENGINE... - the summary without what depends on the host; with "other", nor on the engine.
summary() {
    python3 - "$1/summary.json" "${2:-}" <<'PY'
import json, sys
j = json.load(open(sys.argv[1]))
for k in j["host_dependent_keys"] + (j["engine_dependent_keys"] if sys.argv[2] else []):
    assert k in j, k
    del j[k]
print(json.dumps(j))
PY
}

# same NAME FILES COMMAND... - runs it with 1, 2, 4 threads, and every packet of it in parts and
# serially, and compares the files.
same() {
    local name=$1 files=$2 n f all="--no-steady --no-memo --quiet"
    shift 2
    for n in 1 2 4 auto; do
        expect 0 "$WORMHOLE" "$@" -o "$name-$n" --threads $n --quiet
    done
    expect 0 "$WORMHOLE" "$@" -o "$name-all" --threads 2 $all
    expect 0 "$WORMHOLE" "$@" -o "$name-serial" --engine serial $all
    expect 0 "$WORMHOLE" "$@" -o "$name-default" --quiet
    for f in $files; do
        for n in 2 4 auto default; do
            cmp "$name-1/$f" "$name-$n/$f" || fail "$name: $f with $n is not that of one thread"
        done
        cmp "$name-all/$f" "$name-serial/$f" || fail "$name: $f is not the serial engine's"
    done
    for n in 2 4 auto default; do
        is "$(summary "$name-$n")" "$(summary "$name-1")" "$name: summary, $n threads"
    done
    is "$(summary "$name-serial" other)" "$(summary "$name-all" other)" "$name: summary, serial"
    is "$(json "$name-4/summary.json" "j['engine']['kind'], j['engine']['threads']")" \
        "('partitioned', 4)" "$name: engine"
    is "$(json "$name-serial/summary.json" "j['engine']['kind'], j['engine']['threads']")" \
        "('serial', 1)" "$name: serial engine"
}

# Flows known beforehand, in several partitions; and cut off in the middle.
cat >pairs.yaml <<'YAML'
name: pairs
topology: {kind: leaf-spine, leaves: 4, spines: 2, hosts_per_leaf: 4}
congestion_control: {kind: dctcp}
flows:
  - {pattern: permutation, bytes: 200KB}
  - {pattern: incast, dst: 1, bytes: 20KB}
YAML
same pairs "fct.csv fct.txt" run pairs.yaml
same cut "fct.csv fct.txt" run pairs.yaml --end 15us
is "$(json pairs-4/summary.json "j['engine']['partitions_alive_max'] > 1 and j['engine']['rounds'] > 0")" True \
    "partitions and rounds are counted"

# HPCC files, on the clock of ns-3.
make_incast 8 300KB
sed -i '/PFC_OUTPUT_FILE/d' config.txt # a log of pauses takes the serial engine
same incast "fct.csv fct_out.txt" run --hpcc config.txt

# Flows that follow from others.
cat >llm.yaml <<'YAML'
name: small
topology: {kind: rail, hosts: 16, gpus_per_server: 8, spines: 4, host_link: {rate: 400Gbps, delay: 500ns}}
workload:
  model: {family: llama, layers: 4, hidden: 128, heads: 8, sequence: 64, vocabulary: 512}
  parallel: {tp: 2, pp: 2, dp: 4}
  batch: {micro: 1, global: 16}
YAML
same llm "fct.csv fct.txt collectives.csv trace.json" run llm.yaml

# A workload of another tool.
cat >ping.goal <<'GOAL'
num_ranks 4
rank 0 {
l1: send 100000b to 1 tag 1
l2: recv 50000b from 1 tag 2
}
rank 1 {
l1: recv 100000b from 0 tag 1
l2: send 50000b to 0 tag 2
l2 requires l1
}
rank 2 {
l1: send 70000b to 3 tag 1
}
rank 3 {
l1: recv 70000b from 2 tag 1
}
GOAL
same goal "fct.csv fct.txt ranks.csv trace.json" run --goal ping.goal --topo pairs.yaml
is "$(json goal-1/summary.json "j['skipping']['on'], j['memo']['lens']")" "(True, 'exact')" \
    "skipping and memo with a workload of another tool"

# The other commands.
for n in 1 3; do
    expect 0 "$WORMHOLE" bench collective all_reduce -b 1M -e 1M --threads $n
    mv stdout "collective-$n"
    expect 0 "$WORMHOLE" noise pairs.yaml -o "noise-$n" --runs 1 --threads $n --quiet
done
expect 0 "$WORMHOLE" bench collective all_reduce -b 1M -e 1M --engine serial
cmp stdout collective-1 || fail "bench collective differs with the engine"
cmp collective-1 collective-3 || fail "bench collective differs with the threads"
cmp noise-1/noise.csv noise-3/noise.csv || fail "noise differs with the threads"

# The table says how it was run; what was asked for in vain is said.
expect 0 "$WORMHOLE" run pairs.yaml -o t --threads 2
says stdout "engine          partitioned, 2 threads, at most"
expect 0 "$WORMHOLE" run pairs.yaml -o t --threads 2 --engine serial
says stdout "engine          serial"
says stderr "--threads 2 had no effect"
cp pairs.yaml logged.yaml
printf 'logs:\n  queue: {file: queue.csv, interval: 1us}\n' >>logged.yaml
expect 0 "$WORMHOLE" run logged.yaml -o logged --threads 2
says stderr "the serial engine was used"
expect 0 "$WORMHOLE" run logged.yaml -o logged --quiet
[ -s stderr ] && fail "a log alone is worth a message about the engine"
cmp logged/fct.csv pairs-all/fct.csv || fail "a log changes the results"

for bad in 0 65 -1 two 1.5 ""; do
    expect 2 "$WORMHOLE" run pairs.yaml -o bad --threads "$bad"
    says stderr "--threads: found '$bad', expected auto or a whole number from 1 to 64"
done
expect 2 "$WORMHOLE" run pairs.yaml -o bad --engine parallel
says stderr "--engine: found 'parallel', expected partitioned or serial"
expect 2 "$WORMHOLE" run --goal ping.goal --topo pairs.yaml -o bad --threads 99
says stderr "--threads: found '99'"
expect 2 "$WORMHOLE" bench collective all_reduce --threads 0
says stderr "--threads: found '0'"
expect 2 "$WORMHOLE" noise pairs.yaml -o bad --engine fast
says stderr "--engine: found 'fast'"
[ -e bad ] && fail "a folder for a command line that was refused"
finish
