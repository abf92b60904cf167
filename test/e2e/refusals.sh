# Wrong command lines, inputs and output places: exit code 2 at once, one clear line, nothing left behind.
. "$(dirname "$0")/helpers.bash"
make_incast 4 1MB

expect 2 "$WORMHOLE"
expect 2 "$WORMHOLE" fly
says stderr "fly"
expect 2 "$WORMHOLE" run
expect 2 "$WORMHOLE" run --hpcc config.txt --bogus
says stderr "--bogus"
expect 2 "$WORMHOLE" run --hpcc config.txt extra.yaml
expect 2 "$WORMHOLE" run nothing.yaml
says stderr "nothing.yaml"
expect 2 "$WORMHOLE" run --hpcc nothing.txt
says stderr "nothing.txt"
expect 2 "$WORMHOLE" compare here
expect 2 "$WORMHOLE" compare here there
says stderr "here"
expect 2 "$WORMHOLE" gen
expect 2 "$WORMHOLE" gen topology blob
says stderr "blob"
expect 2 "$WORMHOLE" check
expect 2 "$WORMHOLE" check --hpcc config.txt --set CC_MODE=banana
for c in run check compare; do
    expect 0 "$WORMHOLE" $c --help
    says stdout "usage: wormhole $c"
done
expect 0 "$WORMHOLE" version
says stdout "wormhole "

# Output places. One line each, naming path, key and reason; no file that looks like a result.
lines() { is "$(wc -l <stderr)" 1 "one line on stderr: $(cat stderr)"; }
expect 0 "$WORMHOLE" run --hpcc config.txt --set FCT_OUTPUT_FILE=missing/fct.txt -o out1 --quiet
# -o wins over the configured folder
expect 2 "$WORMHOLE" run --hpcc config.txt --set FCT_OUTPUT_FILE=missing/fct.txt --quiet
finish_missing=$(cat stderr)
case $finish_missing in
*missing/fct.txt*FCT_OUTPUT_FILE*"No such file"*) ;;
*) fail "the refusal lacks path, key or reason: $finish_missing" ;;
esac
lines
[ -e wormhole-out/summary.json ] && fail "summary.json of a run that never began"
[ -e wormhole-out/fct.csv ] && fail "fct.csv of a run that never began"
: >file
expect 2 "$WORMHOLE" run --hpcc config.txt -o file/out --quiet
says stderr "file/out"
says stderr "-o"
lines
expect 2 "$WORMHOLE" run --hpcc config.txt --set FCT_OUTPUT_FILE=summary.json -o same --quiet
says stderr "summary.json"
[ -e same/summary.json ] && fail "summary.json of a run that never began"
if [ "$(id -u)" -ne 0 ]; then
    mkdir locked && chmod 555 locked
    expect 2 "$WORMHOLE" run --hpcc config.txt -o locked/out --quiet
    says stderr "Permission denied"
fi

# A full device shows at write time.
expect 1 "$WORMHOLE" run --hpcc config.txt --set FCT_OUTPUT_FILE=/dev/full --quiet
says stderr "/dev/full"
says stderr "No space left"
is "$(json wormhole-out/summary.json "j['complete']")" False "the summary of a run whose files are not whole"
expect 1 bash -c '"$WORMHOLE" gen topology fat-tree >/dev/full'
finish
