# wormhole gen: what it writes is read back, in all kinds and patterns; nothing half-written stays.
. "$(dirname "$0")/helpers.bash"

for kind in single-switch dumbbell leaf-spine fat-tree clos3 rail torus dragonfly; do
    expect 0 "$WORMHOLE" gen topology $kind -o $kind.txt
    expect 0 "$WORMHOLE" gen flows permutation --topology $kind.txt --bytes 1KB
    read -r flows <stdout
    # "<nodes> <switches> <links>": every host sends once
    read -r nodes switches _ <$kind.txt
    is "$flows" $((nodes - switches)) "flows of a permutation on $kind"
    expect 0 "$WORMHOLE" gen topology $kind
    cmp -s stdout $kind.txt || fail "$kind: the file is not what goes to standard output"
done

# The other generator's names.
expect 0 "$WORMHOLE" gen topology --ro -g 16 -gps 4 -bw 400Gbps -l 0.0005ms -asn 4 -psn 2 -nvbw 2880Gbps \
    -nl 0.000025ms -o rail16.txt
says rail16.txt "400Gbps"

# The same request gives the same flows; another seed others.
for pattern in "poisson --distribution web-search --load 30% --duration 1ms" "permutation --bytes 1MB"; do
    expect 0 "$WORMHOLE" gen flows $pattern --topology fat-tree.txt --seed 1 -o one.txt
    expect 0 "$WORMHOLE" gen flows $pattern --topology fat-tree.txt --seed 1 -o same.txt
    expect 0 "$WORMHOLE" gen flows $pattern --topology fat-tree.txt --seed 2 -o other.txt
    cmp -s one.txt same.txt || fail "$pattern: not repeatable"
    cmp -s one.txt other.txt && fail "$pattern: the seed has no effect"
done

expect 2 "$WORMHOLE" gen topology fat-tree --k 3 -o odd.txt
says stderr "3"
[ -e odd.txt ] && fail "a file of a refused topology"
expect 2 "$WORMHOLE" gen flows single --topology fat-tree.txt --src 0 --dst 0 --bytes 1KB -o self.txt
[ -e self.txt ] && fail "a file of refused flows"
expect 2 "$WORMHOLE" gen flows ring --topology missing.txt --bytes 1KB
says stderr "missing.txt"
expect 2 "$WORMHOLE" gen topology fat-tree -o missing/dir.txt
says stderr "missing/dir.txt"
expect 2 "$WORMHOLE" gen flows poisson --topology fat-tree.txt --distribution unknown --duration 1ms
says stderr "unknown"
finish
