# wormhole check prints the resolved scenario, which runs to the same results; overrides reach it.
. "$(dirname "$0")/helpers.bash"
cat >s.yaml <<'YAML'
name: pair
topology:
  kind: single-switch
  hosts: 4
flows:
  - pattern: permutation
    bytes: 50KB
YAML
expect 0 "$WORMHOLE" check s.yaml
[ -e wormhole-out ] && fail "check wrote outputs"
cp stdout resolved.yaml
expect 0 "$WORMHOLE" run s.yaml -o a --quiet
expect 0 "$WORMHOLE" run resolved.yaml -o b --quiet
cmp a/fct.csv b/fct.csv || fail "the resolved scenario gives other results"
# The seed moves the generated permutation.
expect 0 "$WORMHOLE" run s.yaml -o c --quiet --seed 12345
is "$(json c/summary.json "j['seed']")" 12345 "seed in the summary"
expect 0 "$WORMHOLE" run s.yaml -o d --quiet --end 1us
is "$(json d/summary.json "j['flows']['unfinished']")" 4 "unfinished flows at the stop time"
is "$(json d/summary.json "j['config']['end_ps']")" 1000000 "stop time in the summary"
says stderr "unfinished at the stop time"
expect 2 "$WORMHOLE" check s.yaml --set topology.kind=blob
says stderr "blob"
expect 2 "$WORMHOLE" check s.yaml --set no.such.key=1
says stderr "no.such.key"

# A lone flow: congestion control had nothing to do, and the summary says so.
cat >one.yaml <<'YAML'
topology: {kind: single-switch, hosts: 2}
flows:
  - {pattern: single, src: 0, dst: 1, bytes: 1MB}
YAML
expect 0 "$WORMHOLE" run one.yaml -o one --quiet
says one/summary.json "congestion control had nothing to do"

make_incast 4 10KB
expect 0 "$WORMHOLE" check --hpcc config.txt
says stdout "hpcc"
finish
