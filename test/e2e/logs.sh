# The optional logs: columns as documented, whole lines, bounded, with a message about what was left out.
. "$(dirname "$0")/helpers.bash"
: "${WH_SOURCE_DIR:?the source tree}"

cat >s.yaml <<'YAML'
name: incast
topology:
  kind: single-switch
  hosts: 9
congestion_control:
  kind: dcqcn
switch:
  buffer: 1MiB
flows:
  - pattern: incast
    dst: 8
    bytes: 300KB
logs:
  queue: {file: queue.csv, interval: 1us}
  rate: {file: rate.csv, interval: 5us, flows: [0, 3]}
  packet: {file: packet.csv, nodes: [8]}
  link: {file: link.csv, interval: 10us}
  qlen: {file: qlen.txt, interval: 100ns}
  pfc: {file: pfc.txt}
YAML
expect 0 "$WORMHOLE" run s.yaml -o out --quiet
for f in queue.csv rate.csv packet.csv link.csv qlen.txt pfc.txt fct.txt fct.csv summary.json; do
    [ -s "out/$f" ] || fail "$f is missing or empty"
done

python3 - "$WH_SOURCE_DIR/docs/output.md" <<'PY' || fail "logs are not as documented"
import csv, re, sys
sections, title = {}, None
for line in open(sys.argv[1]):
    m = re.match(r"#+ (.*)", line)
    title = m.group(1).strip() if m else title
    m = re.match(r"\| `([^`]+)` \|", line)
    if m and title:
        sections.setdefault(title, []).append(m.group(1))
for name in ("queue", "rate", "packet", "link"):
    header = open(f"out/{name}.csv").readline().strip().split(",")
    assert header == sections[f"{name.capitalize()} log"], (name, header)

def rows(name):
    return list(csv.DictReader(open(f"out/{name}.csv")))

queue, rate, packet, link = map(rows, ("queue", "rate", "packet", "link"))
assert {r["node"] for r in queue} == {"9"}
assert max(int(r["queue_bytes"]) for r in queue) > 0
assert all(float(r["time_ns"]) % 1000 == 0 for r in queue)
assert {r["flow"] for r in rate} == {"0", "3"}
assert all(float(r["time_ns"]) % 5000 == 0 for r in rate)
assert {r["node"] for r in packet} == {"8"}
received = [r for r in packet if r["event"] == "receive" and r["type"] == "data"]
assert sum(int(r["payload_bytes"]) for r in received) >= 8 * 300000
times = [float(r["time_ns"]) for r in packet]
assert times == sorted(times)
assert all(0 < float(r["utilization"]) <= 1 + 1048 / 125000 for r in link), max(float(r["utilization"]) for r in link)
# Bytes into the receiver: all payload with headers, up to the last full interval.
into = sum(int(r["tx_bytes"]) for r in link if r["to"] == "8")
assert 0.9 * 8 * 300000 < into, into

qlen = [l.split() for l in open("out/qlen.txt")]
assert qlen[0][0] == "time:" and len(qlen[0]) == 2
ports = [l for l in qlen if l[0] == "9"]
assert len(ports) % 9 == 0 and [int(l[1]) for l in ports[:9]] == list(range(1, 10))
assert len({sum(map(int, l[2:])) for l in ports[-9:]}) == 1, "every port has the same number of samples"
pfc = [l.split() for l in open("out/pfc.txt")]
assert all(len(l) == 5 and l[4] in "01" and l[3] >= "1" for l in pfc)
assert any(l[4] == "1" for l in pfc) and any(l[2] == "0" for l in pfc)
PY

# A cap: whole lines, not more bytes, and the end says how much is missing.
expect 0 "$WORMHOLE" run s.yaml -o capped --quiet --set logs.packet.cap=10KB --set logs.queue.cap=1KB
for f in packet queue; do
    cap=10000
    [ $f = queue ] && cap=1000
    size=$(stat -c %s "capped/$f.csv")
    [ "$size" -le $cap ] || fail "$f.csv has $size bytes, more than its cap"
    [ "$size" -gt $((cap - 200)) ] || fail "$f.csv has $size bytes, far less than its cap"
    is "$(tail -c 1 "capped/$f.csv" | od -An -c | tr -d ' ')" '\n' "end of the last line of $f.csv"
    cmp -n "$size" "capped/$f.csv" "out/$f.csv" || fail "$f.csv is not a prefix of the whole log"
    says stderr "capped/$f.csv"
    left=$(json capped/summary.json "[o['left_out_lines'] for o in j['outputs'] if o['file'] == '$f.csv'][0]")
    is $(($(wc -l <"capped/$f.csv") + left)) "$(wc -l <"out/$f.csv")" "lines kept and left out of $f.csv"
done
cmp capped/fct.csv out/fct.csv || fail "logging changes results"

# Nothing is logged unless asked for.
sed '/^logs:/,$d' s.yaml >plain.yaml
expect 0 "$WORMHOLE" run plain.yaml -o plain --quiet
is "$(ls plain | tr '\n' ' ')" "fct.csv fct.txt summary.json " "files of a plain run"
cmp plain/fct.csv out/fct.csv || fail "logging changes results"

# A log that cannot be opened stops the run before it begins.
expect 2 "$WORMHOLE" run s.yaml -o bad --quiet --set logs.queue.file=no/such/queue.csv
says stderr "no/such/queue.csv"
says stderr "logs.queue"
is "$(ls bad)" "" "files of a run that never began"
finish
