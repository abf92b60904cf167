/*
 * scaling_plot.c - see scaling_plot.h.
 *
 * gnuplot gets its script from a file without a name, and writes into the output that is already
 * open: no path goes through a shell or through gnuplot's own quoting.
 */
#include "scaling_plot.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ; /* no header declares it without _GNU_SOURCE */

/* Runs gnuplot to its end. @in: -1: none. Returns its exit code, or -1 with errno. */
static int run_gnuplot(const char *option, int in, int out)
{
    char name[] = "gnuplot", argument[16];
    char *const argv[] = {name, option ? argument : NULL, NULL};
    posix_spawn_file_actions_t files;
    int status = 0, rc;
    pid_t child;

    (void)snprintf(argument, sizeof argument, "%s", option ? option : "");
    rc = posix_spawn_file_actions_init(&files);
    if (!rc && in >= 0)
        rc = posix_spawn_file_actions_adddup2(&files, in, STDIN_FILENO);
    if (!rc && out >= 0)
        rc = posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
    else if (!rc)
        rc = posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (!rc)
        rc = posix_spawnp(&child, name, &files, NULL, argv, environ);
    (void)posix_spawn_file_actions_destroy(&files);
    if (rc) {
        errno = rc;
        return -1;
    }
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

int scaling_plot_find(struct err_info *e)
{
    if (!run_gnuplot("--version", -1, -1))
        return 0;
    return err_set(e, WH_ERR_INPUT, NULL, 0,
                   "--svg: found no gnuplot to run, expected one in PATH (Debian: gnuplot-nox); "
                   "--json needs none");
}

/* ---- the script ---- */

/* In single quotes; a quote inside is doubled. */
static void print_quoted(FILE *f, const char *text)
{
    fputc('\'', f);
    for (; *text; text++) {
        if (*text == '\'')
            fputc('\'', f);
        fputc((unsigned char)*text < ' ' ? ' ' : *text, f);
    }
    fputc('\'', f);
}

static void print_measured(FILE *f, const struct scaling *s)
{
    fprintf(f, "$measured << END\n");
    for (uint32_t i = s->base; i < s->row_count; i++) {
        const struct scaling_spread x = scaling_speedup(s, &s->rows[i]);

        if (x.median > 0)
            fprintf(f, "%" PRIu32 " %.6f %.6f %.6f\n", s->rows[i].engine.threads, x.median, x.min,
                    x.max);
    }
    fprintf(f, "END\n");
}

static uint32_t print_predicted(FILE *f, const struct scaling *s)
{
    uint32_t most = 1;

    fprintf(f, "$predicted << END\n1 1\n");
    for (uint32_t i = 0; i < s->prediction_count; i++) {
        most = s->predictions[i].threads;
        fprintf(f, "%" PRIu32 " %.6f\n", most, s->predictions[i].p.speedup);
    }
    fprintf(f, "END\n");
    return most;
}

void scaling_plot_script(FILE *f, const struct scaling *s)
{
    uint32_t most;

    print_measured(f, s);
    most = print_predicted(f, s);
    fprintf(f, "set terminal svg size 800,560 noenhanced font 'sans,14' background rgb 'white'\n");
    fprintf(f, "set title ");
    print_quoted(f, s->scenario);
    fprintf(f, "\nset xlabel 'threads'\nset ylabel 'speed-up'\n"
               "set logscale xy 2\nset key left top\nset grid\n");
    fprintf(f, "set xrange [0.9:%.1f]\nset yrange [0.5:%.1f]\n", 1.1 * most, 1.1 * most);
    fprintf(f, "plot x title 'ideal' with lines dashtype 2 linecolor rgb '#888888', \\\n"
               "  $predicted using 1:2 title 'predicted from one thread' with linespoints "
               "linewidth 2 pointtype 4 linecolor rgb '#0060ad', \\\n"
               "  $measured using 1:2:3:4 title 'measured: median, least, most' with yerrorbars "
               "linewidth 2 pointtype 7 linecolor rgb '#c02000'\n");
}

int scaling_plot_svg(struct out_file *o, const struct scaling *s, struct err_info *e)
{
    FILE *script = tmpfile();
    int code = -1;

    if (script) {
        scaling_plot_script(script, s);
        if (!fflush(script) && !fseek(script, 0, SEEK_SET))
            code = run_gnuplot(NULL, fileno(script), fileno(o->f));
    }
    if (code)
        (void)err_set(e, WH_ERR_IO, o->path, 0, "--svg: gnuplot: %s",
                      code < 0 ? strerror(errno) : "it failed, see above");
    if (script)
        (void)fclose(script);
    return code ? WH_ERR_IO : 0;
}
