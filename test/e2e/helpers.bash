# Shared by the scripts of this folder: a scratch folder, checks, small inputs.
# Needs $WORMHOLE, the program under test.

set -u
: "${WORMHOLE:?the program under test}"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
failures=0

fail() {
    echo "FAIL: $*" >&2
    failures=$((failures + 1))
}

# expect CODE COMMAND... - runs it with output in ./stdout and ./stderr, checks the exit code.
expect() {
    local want=$1 got
    shift
    "$@" >stdout 2>stderr
    got=$?
    if [ "$got" -ne "$want" ]; then
        fail "exit code $got, expected $want: $*"
        cat stderr >&2
    fi
}

# says FILE TEXT - the file holds the text.
says() {
    grep -qF -- "$2" "$1" || { fail "$1 does not say '$2':"; cat "$1" >&2; }
}

# json FILE EXPRESSION - prints a Python expression over the parsed file j.
json() {
    python3 -c 'import json,sys; j=json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$1" "$2"
}

is() {
    [ "$1" = "$2" ] || fail "found '$1', expected '$2' ($3)"
}

# make_incast SENDERS BYTES - topology.txt, flow.txt and config.txt of an incast under HPCC.
make_incast() {
    "$WORMHOLE" gen topology single-switch --hosts $(($1 + 1)) -o topology.txt || exit 1
    "$WORMHOLE" gen flows incast --topology topology.txt --dst "$1" --bytes "$2" -o flow.txt || exit 1
    cat >config.txt <<CONFIG
TOPOLOGY_FILE topology.txt
FLOW_FILE flow.txt
FCT_OUTPUT_FILE fct_out.txt
PFC_OUTPUT_FILE pfc_out.txt
SIMULATOR_STOP_TIME 10
CC_MODE 3
RATE_AI 40Mb/s
RATE_HAI 40Mb/s
MI_THRESH 0
EWMA_GAIN 0.00390625
BUFFER_SIZE 32
ENABLE_TRACE 0
L2_ACK_INTERVAL 1
L2_CHUNK_SIZE 4000
ACK_HIGH_PRIO 1
KMAX_MAP 1 100000000000 1600
KMIN_MAP 1 100000000000 400
PMAX_MAP 1 100000000000 0.2
CONFIG
}

finish() {
    [ "$failures" -eq 0 ] && exit 0
    echo "$failures checks failed" >&2
    exit 1
}
