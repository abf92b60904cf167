# The shared library: exports what its header declares and nothing else, and a C program runs on it.
. "$(dirname "$0")/helpers.bash"
: "${WH_SOURCE_DIR:?the source tree}" "${WH_BINARY_DIR:?the build tree}"
library=$WH_BINARY_DIR/lib/libwormhole.so
[ -e "$library" ] || exit 77
# A sanitizer's run time has to be linked into the program itself.
nm -D "$library" | grep -q __asan_init && exit 77

nm -D --defined-only "$library" | awk '$2 == "T" {print $3}' | sort >exported
grep -oE '\bwh_[a-z_]+\(' "$WH_SOURCE_DIR/lib/wormhole.h" | tr -d '(' | sort -u >mentioned
# Every exported symbol is in the header, and every function of the header is exported.
comm -23 exported mentioned >only_exported
[ -s only_exported ] && fail "exported, not in the header: $(tr '\n' ' ' <only_exported)"
comm -13 exported mentioned >only_mentioned
[ -s only_mentioned ] && fail "in the header, not exported: $(tr '\n' ' ' <only_mentioned)"
nm -D -u "$library" | grep -qwE '_?exit' && fail "the library can exit"

compiler=${CC:-cc}
expect 0 "$compiler" -std=c11 -Wall -Wextra -Werror -I"$WH_SOURCE_DIR/lib" \
    "$WH_SOURCE_DIR/examples/c/send_recv.c" -o send_recv -L"$WH_BINARY_DIR/lib" -lwormhole \
    -Wl,-rpath,"$WH_BINARY_DIR/lib"
expect 0 ./send_recv
cp stdout first
is "$(grep -c '^rally' first)" 3 "rallies of the example"
expect 0 ./send_recv
cmp -s stdout first || fail "the example gives other output the second time"
finish
