# wormhole bench collective: the table of nccl-tests, bandwidths against closed forms, refusals.
. "$(dirname "$0")/helpers.bash"

# rows FILE - size, time, algbw, busbw, #wrong of each row.
rows() {
    awk '!/^#/ {print $1, $6, $7, $8, $9}' "$1"
}

expect 0 "$WORMHOLE" bench collective all_reduce -b 8 -e 16M -f 8 --rate 100Gbps --payload 9000B
says stdout "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong"
says stdout "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)"
says stdout "# Out of bounds values : 0 OK"
says stdout "# Avg bus bandwidth    : "
is "$(rows stdout | wc -l)" 8 "rows from 8 B to 16 MiB by 8"
rows stdout | awk '
    $1 > 8 && $4 + 0.005 < last {print "busbw falls at", $1; bad = 1}
    {last = $4}
    {if ($5 != 0) bad = 1}
    END {exit bad}' || fail "busbw of a ring does not rise with the size"

# Bandwidths follow from size and time: algbw = size / time, busbw by the factor of the operation.
check_factors() {
    rows stdout | awk -v factor="$1" '
        $2 > 0 {
            algbw = $1 / $2 / 1000
            if (algbw - $3 > 0.01 + algbw / 500 || $3 - algbw > 0.01 + algbw / 500) bad = 1
            if ($3 * factor - $4 > 0.02 || $4 - $3 * factor > 0.02) bad = 1
        }
        END {exit bad}' || fail "algbw or busbw of $2 do not follow from size and time"
}
expect 0 "$WORMHOLE" bench collective all_reduce -g 4 -b 1M -e 4M
check_factors 1.5 all_reduce
for op in all_gather reduce_scatter alltoall all_to_all_perf; do
    expect 0 "$WORMHOLE" bench collective $op -g 4 -b 1M -e 4M
    check_factors 0.75 $op
done
for op in broadcast reduce sendrecv; do
    expect 0 "$WORMHOLE" bench collective $op -g 4 -b 1M -e 4M
    check_factors 1 $op
done
expect 0 "$WORMHOLE" bench collective broadcast -g 4 -r 2 -b 64 -e 64
is "$(awk '!/^#/ {print $4, $5}' stdout)" "none 2" "operation and root of a broadcast"

# More ranks than a server has: the collective runs over all of them.
for ranks in 8 16 32; do
    expect 0 "$WORMHOLE" bench collective all_reduce -g $ranks -b 256M -e 256M --payload 9000B --rate 100Gbps --csv c$ranks.csv
    is "$(rows stdout | awk '{print ($4 >= 12.37 && $4 <= 12.5)}')" 1 "busbw of $ranks ranks within 1 % of 12.5 GB/s"
    says c$ranks.csv "\"0-$((ranks - 1))\",all_reduce,ring"
done

# Two servers of four GPUs with four NICs of 24 GB/s: measured 93.5 to 97.4 GB/s.
expect 0 "$WORMHOLE" bench collective all_reduce --topology rail --gpus-per-server 4 --spines 1 \
    --rate 192Gbps --channels 4 -b 256M -e 256M
is "$(rows stdout | awk '{print ($4 > 93 && $4 < 97)}')" 1 "busbw of two servers"

# Tiny sizes, an empty one, files.
expect 0 "$WORMHOLE" bench collective all_reduce -d int8 --channels 4 -b 0 -e 7 -i 1 --csv tiny.csv --trace t.json
is "$(rows stdout | wc -l)" 8 "rows from 0 to 7 B"
is "$(rows stdout | head -n 1)" "0 0.00 0.00 0.00 0" "an empty collective is shown"
is "$(tail -n +2 tiny.csv | awk -F, '{print $(NF-1)}' | tr '\n' ' ')" "0 14 28 42 56 70 84 98 " "bytes sent: 2 (n - 1) S"
json t.json "[e for e in j['traceEvents'] if e['ph'] == 'X'][0]['name']" >name.txt
says name.txt all_reduce

# A scenario file gives the network.
cat >net.yaml <<'YAML'
topology: {kind: leaf-spine, leaves: 2, spines: 2, hosts_per_leaf: 2}
YAML
expect 0 "$WORMHOLE" bench collective all_gather --scenario net.yaml -b 64K -e 64K
says stdout "ranks 4"
expect 0 "$WORMHOLE" bench collective all_gather --scenario net.yaml --set topology.hosts_per_leaf=4 -b 64K -e 64K
says stdout "ranks 8"

# The same command gives the same table.
expect 0 "$WORMHOLE" bench collective alltoall -g 16 --topology rail --algorithm pxn --placement random -b 1M -e 1M
cp stdout first
expect 0 "$WORMHOLE" bench collective alltoall -g 16 --topology rail --algorithm pxn --placement random -b 1M -e 1M
cmp -s first stdout || fail "not repeatable"

refuse() {
    expect 2 "$WORMHOLE" bench collective "${@:2}" --csv refused.csv
    says stderr "$1"
    [ -e refused.csv ] && fail "a file of a refused run"
}
refuse "expected all_reduce" all_sum
refuse "power of two" all_reduce -g 6 --algorithm halving-doubling
refuse "cannot do" broadcast --algorithm pairwise
refuse "root 8" broadcast -r 8
refuse "-b" all_reduce -b 4M -e 1M
refuse "'9X'" all_reduce -b 9X
refuse "missing.yaml" all_reduce --scenario missing.yaml
refuse "at most 4" all_reduce --scenario net.yaml -g 5
expect 2 "$WORMHOLE" bench all_reduce
says stderr "expected collective"
finish
