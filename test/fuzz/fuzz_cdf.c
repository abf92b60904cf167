/*
 * fuzz_cdf.c - any bytes as a flow-size distribution. What is accepted has a mean within its sizes
 * and draws that rise with the share.
 */
#include "flowgen.h"
#include "fuzz_file.h"

#include <string.h>

static void check_draws(const struct size_cdf *c)
{
    const double largest = c->bytes[c->count - 1];
    int64_t last = 0;

    check(cdf_mean_bytes(c) > 0 && cdf_mean_bytes(c) <= largest * (1 + 1e-9), "mean %g, largest %g",
          cdf_mean_bytes(c), largest);
    for (int i = 0; i < 100; i++) {
        const int64_t bytes = cdf_draw_bytes(c, i / 100.0);
        check(bytes >= 1 && bytes >= last, "%lld after %lld", (long long)bytes, (long long)last);
        check((double)bytes <= largest + 1, "%lld, largest %g", (long long)bytes, largest);
        last = bytes;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct fuzz_file f;
    struct size_cdf c = {0};
    struct err_info e = {0};

    fuzz_file_open(&f, data, bytes);
    if (cdf_read(f.path, &c, &e) == 0)
        check_draws(&c);
    else
        check(strstr(e.text, "expected") && !c.bytes, "no reason: %s", e.text);
    cdf_fini(&c);
    fuzz_file_close(&f);
    return 0;
}
