# docs/output.md explains every column and every key that is written, and nothing that is not.
. "$(dirname "$0")/helpers.bash"
: "${WH_SOURCE_DIR:?the source tree}"
make_incast 8 1MB
# A small buffer, marks and a link event, so that every list has elements.
expect 0 "$WORMHOLE" run --hpcc config.txt -o out --quiet --set CC_MODE=1 --set BUFFER_SIZE=1 \
    --set "LINK_DOWN=1000000 0 9" --set RP_TIMER=300 --set HAS_WIN=0
cat >w.yaml <<'YAML'
name: small
topology: {kind: rail, hosts: 4, gpus_per_server: 2, spines: 1}
workload:
  model: {family: gpt, layers: 2, hidden: 64, heads: 2, sequence: 32, vocabulary: 128}
  parallel: {tp: 2, dp: 2}
  batch: {micro: 1, global: 2}
YAML
expect 0 "$WORMHOLE" noise w.yaml -o noise --runs 1 --quiet
expect 0 "$WORMHOLE" bench scaling w.yaml --threads 1,2 --repetitions 1 --quiet --json scaling.json

python3 - "$WH_SOURCE_DIR/docs/output.md" <<'PY' || fail "documentation and outputs differ"
import json, re, sys

sections, title = {}, None
for line in open(sys.argv[1]):
    m = re.match(r"#+ (.*)", line)
    if m:
        title = m.group(1).strip()
    m = re.match(r"\| `([^`]+)` \|", line)
    if m and title:
        sections.setdefault(title, []).append(m.group(1))

def compare(what, documented, written):
    d, w = set(documented), set(written)
    for x in sorted(w - d):
        print(f"{what}: {x} is written and not documented")
    for x in sorted(d - w):
        print(f"{what}: {x} is documented and not written")
    return d == w

PORTS = ("queues.top[]", "links.top[]", "pauses.top[]")
paths, ports, config = set(), set(), set()

def walk(value, path):
    if path == "config":
        for k, v in value.items():
            if isinstance(v, list):
                assert v, f"config.{k} is empty: nothing to check"
                config.update(f"{k}[].{x}" for x in v[0])
            else:
                config.add(k)
        paths.add(path)
    elif path in PORTS:
        paths.add(path)
        ports.update(value)
    elif path == "skipping.reasons": # its keys are texts
        paths.add(path)
    elif isinstance(value, dict):
        for k, v in value.items():
            p = f"{path}.{k}" if path else k
            if path == "fct.by_size[]" and not k.startswith("bytes_"):
                p = f"fct.{k}"
            walk(v, p)
        if path == "fct.by_size[]":
            paths.add(path)
    elif isinstance(value, list):
        if value and isinstance(value[0], dict):
            for v in value:
                walk(v, path + "[]")
        else:
            paths.add(path)
            assert path in ("notes", "host_dependent_keys", "engine_dependent_keys", "memo_dependent_keys") or not value, path
            if not value and path + "[]" in PORTS:
                print(f"{path} is empty: nothing to check")
                sys.exit(1)
    else:
        paths.add(path)

def noise_paths(j):
    for key, value in j.items():
        rows = value if isinstance(value, list) else [value]
        prefix = key + "[]." if isinstance(value, list) else key + "."
        if isinstance(rows[0], dict):
            yield from {prefix + x for row in rows for x in row}
        else:
            yield key

def leaf_paths(value, path):
    if isinstance(value, dict):
        for k, v in value.items():
            yield from leaf_paths(v, f"{path}.{k}" if path else k)
    elif isinstance(value, list):
        for v in value:
            yield from leaf_paths(v, path + "[]")
    elif value is None and path == "record.costs":
        yield from (f"{path}.{k}" for k in ("threads", "round_ns", "thread_ns", "task_ns"))
    else:
        yield path

walk(json.load(open("out/summary.json")), "")
ok = compare("fct.csv", sections["fct.csv"], open("out/fct.csv").readline().strip().split(","))
ok &= compare("summary.json", sections["summary.json"], paths)
ok &= compare("noise.json", sections["noise.json"], noise_paths(json.load(open("noise/noise.json"))))
ok &= compare("noise.csv", sections["noise.csv"], open("noise/noise.csv").readline().strip().split(","))
ok &= compare("bench scaling", sections["`wormhole bench scaling`"], leaf_paths(json.load(open("scaling.json")), ""))
ok &= compare("ports", sections["Rows of ports"], ports)
ok &= compare("config", sections["Settings"], config)
sys.exit(not ok)
PY
finish
