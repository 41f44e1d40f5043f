/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* link: runs a command beside two network namespaces joined by a link of a given round trip and
 * rate.
 *
 *   link --rtt 80 --rate 10 -- sh -c '$SA_NS_SERVER my-server & $SA_NS_CLIENT my-client 10.77.0.1'
 *
 * The command itself stays in the namespace of the caller. When it ends, everything it left running
 * and both namespaces go away. */
#include <errno.h>
#include <gio/gio.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "link-config.h"
#include "link-netem.h"
#include "link-ns.h"
#include "link-pump.h"
#include "link-selftest.h"

/* How long a command may take to end after a signal, and what it left behind after SIGTERM. */
#define GRACE_S    5
#define LEFTOVER_S 1

static double opt_rtt;
static char *opt_rate;
static gint64 opt_queue;
static double opt_loss;
static int opt_seed = 1;
static char **opt_steps;
static char **opt_outages;
static char *opt_stats;
static char *opt_cc;
static char *opt_exec;
static char *opt_selftest_only;
static double opt_skew;
static gboolean opt_netem;
static gboolean opt_selftest;
static gboolean opt_probe;

static const GOptionEntry entries[] = {
    {"rtt", 0, 0, G_OPTION_ARG_DOUBLE, &opt_rtt, "Round trip in milliseconds (0)", "MS"},
    {"rate", 0, 0, G_OPTION_ARG_STRING, &opt_rate, "Mbit/s down[:up], IP bytes; 0 is unlimited (0)",
     "MBIT[:UP]"},
    {"queue", 0, 0, G_OPTION_ARG_INT64, &opt_queue,
     "Bytes of each drop-tail queue (one BDP, at least 15000)", "BYTES"},
    {"loss", 0, 0, G_OPTION_ARG_DOUBLE, &opt_loss, "Per cent of packets lost at random, each way",
     "PCT"},
    {"seed", 0, 0, G_OPTION_ARG_INT, &opt_seed, "Seed of the loss (1)", "N"},
    {"step", 0, 0, G_OPTION_ARG_STRING_ARRAY, &opt_steps, "Change the rate in mid-run",
     "AT_S:MBIT[:UP]"},
    {"outage", 0, 0, G_OPTION_ARG_STRING_ARRAY, &opt_outages,
     "Serve nothing for a while; packets queue", "AT_S:FOR_S"},
    {"stats", 0, 0, G_OPTION_ARG_FILENAME, &opt_stats,
     "Write the statistics here instead of to stderr", "FILE"},
    {"cc", 0, 0, G_OPTION_ARG_STRING, &opt_cc, "Congestion control in both namespaces (cubic)",
     "cubic|bbr|reno"},
    {"netem", 0, 0, G_OPTION_ARG_NONE, &opt_netem, "veth and the kernel's netem instead of TUN",
     NULL},
    {"exec", 0, 0, G_OPTION_ARG_STRING, &opt_exec, "Run COMMAND inside a running link's namespace",
     "server|client"},
    {"self-test", 0, 0, G_OPTION_ARG_NONE, &opt_selftest,
     "Measure links against what they are set to", NULL},
    {"only", 0, 0, G_OPTION_ARG_STRING, &opt_selftest_only, "With --self-test: this one link",
     "RTT:MBIT|model"},
    {"skew", 0, G_OPTION_FLAG_HIDDEN, G_OPTION_ARG_DOUBLE, &opt_skew,
     "With --self-test: set rates wrong", "PCT"},
    {"probe", 0, G_OPTION_FLAG_HIDDEN, G_OPTION_ARG_NONE, &opt_probe, "The self-test's command",
     NULL},
    {NULL},
};

static int
complain(const GError *error, int status)
{
    fprintf(stderr, "link: %s\n", error->message);
    return status;
}

static int
exec_inside(char **argv)
{
    g_autoptr(GError) error = NULL;
    SaLinkSide side = g_str_equal(opt_exec, "client") ? SA_LINK_CLIENT : SA_LINK_SERVER;
    pid_t pid;

    if (!g_str_equal(opt_exec, sa_link_side_name[side])) {
        fprintf(stderr, "link: --exec %s: expected server or client\n", opt_exec);
        return 2;
    }
    pid = sa_link_ns_find(side, &error);
    if (!pid || !sa_link_ns_join(pid, &error))
        return complain(error, 126);
    execvp(argv[0], argv);
    fprintf(stderr, "link: %s: %s\n", argv[0], g_strerror(errno));
    return errno == ENOENT ? 127 : 126;
}

static pid_t
start_command(char **argv, const SaLinkEnd ends[SA_LINK_SIDES])
{
    g_autofree char *self = g_file_read_link("/proc/self/exe", NULL);
    g_autofree char *control = sa_link_ns_control(ends);
    g_autofree char *server = g_strdup_printf("%s --exec server --", self);
    g_autofree char *client = g_strdup_printf("%s --exec client --", self);
    pid_t parent = getpid();
    pid_t pid = fork();
    sigset_t none;

    if (pid)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setenv("SA_LINK_CONTROL", control, 1);
    setenv("SA_NS_SERVER", server, 1);
    setenv("SA_NS_CLIENT", client, 1);
    execvp(argv[0], argv);
    fprintf(stderr, "link: %s: %s\n", argv[0], g_strerror(errno));
    _exit(errno == ENOENT ? 127 : 126);
}

/* What the command left behind became our child. Returns how many there are; @sig 0 only counts. */
static guint
signal_children(const SaLinkEnd ends[SA_LINK_SIDES], int sig)
{
    g_autoptr(GDir) proc = g_dir_open("/proc", 0, NULL);
    const char *name;
    guint n = 0;

    while (proc && (name = g_dir_read_name(proc))) {
        g_autofree char *path = g_strdup_printf("/proc/%s/stat", name);
        g_autofree char *text = NULL;
        pid_t pid = (pid_t)atoi(name);
        const char *rest;
        char state;
        int parent;

        if (pid <= 1 || pid == ends[0].pid || pid == ends[1].pid ||
            !g_file_get_contents(path, &text, NULL, NULL))
            continue;
        rest = strrchr(text, ')');
        if (rest && sscanf(rest, ") %c %d", &state, &parent) == 2 && parent == getpid() &&
            state != 'Z') {
            n++;
            if (sig)
                kill(pid, sig);
        }
    }
    return n;
}

static void
end_leftovers(const SaLinkEnd ends[SA_LINK_SIDES], const sigset_t *set)
{
    struct timespec wait = {LEFTOVER_S, 0};

    if (signal_children(ends, SIGTERM)) {
        /* Each death is a SIGCHLD; one of them ends the wait early, the count decides. */
        gint64 until = g_get_monotonic_time() + LEFTOVER_S * G_USEC_PER_SEC;

        while (signal_children(ends, 0) && g_get_monotonic_time() < until)
            sigtimedwait(set, NULL, &wait);
        /* Killing a parent hands us its children: until none is left. */
        while (signal_children(ends, SIGKILL))
            sigtimedwait(set, NULL, &(struct timespec){0, 20 * 1000 * 1000});
    }
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
}

/* Waits for the command; passes signals on and loses patience in the end. Returns its exit status.
 */
static int
wait_command(pid_t pid, const SaLinkEnd ends[SA_LINK_SIDES], const sigset_t *set)
{
    struct timespec tick = {1, 0};
    gint64 deadline = 0;
    int asked = 0;

    for (;;) {
        siginfo_t info = {0};
        int sig = sigtimedwait(set, &info, &tick);
        pid_t gone;
        int status;

        while ((gone = waitpid(-1, &status, WNOHANG)) > 0) {
            if (gone == pid) {
                if (asked)
                    return 128 + asked;
                return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
            }
            if (gone == ends[0].pid || gone == ends[1].pid)
                fprintf(stderr, "link: a namespace's process was killed\n");
        }
        if (sig == SIGINT || sig == SIGTERM || sig == SIGHUP) {
            asked = sig;
            deadline = deadline ? deadline : g_get_monotonic_time() + GRACE_S * G_USEC_PER_SEC;
            kill(pid, sig);
        }
        if (deadline && g_get_monotonic_time() > deadline)
            kill(pid, SIGKILL);
    }
}

/* Written in place: the file may be a device or a pipe, which a rename would replace. */
static int
write_stats(const char *json)
{
    FILE *out = opt_stats ? fopen(opt_stats, "we") : stderr;
    gboolean ok = out && fprintf(out, "%s\n", json) > 0;

    if (out && out != stderr)
        ok = fclose(out) == 0 && ok;
    if (ok)
        return 0;
    fprintf(stderr, "link: %s: %s\n", opt_stats, g_strerror(errno));
    return 1;
}

static int
run_link(const SaLinkConfig *config, char **argv)
{
    g_autoptr(GError) error = NULL;
    SaLinkEnd ends[SA_LINK_SIDES] = {{0, -1}, {0, -1}};
    SaLinkPump *pump = NULL;
    const char *cc = opt_cc ? opt_cc : "cubic";
    sigset_t set;
    int status = 1;

    if (!sa_link_ns_prepare(&error))
        return complain(error, 77);

    /* All signals are waited for, from before the first child is there. */
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, NULL);
    prctl(PR_SET_CHILD_SUBREAPER, 1);

    if (!sa_link_end_open(&ends[SA_LINK_SERVER], SA_LINK_SERVER, cc, !opt_netem, &error) ||
        !sa_link_end_open(&ends[SA_LINK_CLIENT], SA_LINK_CLIENT, cc, !opt_netem, &error) ||
        (opt_netem && !sa_link_netem_setup(config, ends, &error))) {
        status = complain(error, 77);
    } else {
        pid_t pid = start_command(argv, ends);

        if (pid < 0) {
            fprintf(stderr, "link: fork: %s\n", g_strerror(errno));
        } else {
            if (!opt_netem)
                pump = sa_link_pump_start(config, ends[SA_LINK_SERVER].tun_fd,
                                          ends[SA_LINK_CLIENT].tun_fd);
            status = wait_command(pid, ends, &set);
            end_leftovers(ends, &set);
        }
    }
    if (pump) {
        g_autofree char *json = sa_link_pump_stop(pump);

        if (write_stats(json) && !status)
            status = 1;
    }
    sa_link_end_close(&ends[SA_LINK_CLIENT]);
    sa_link_end_close(&ends[SA_LINK_SERVER]);
    return status;
}

int
main(int argc, char **argv)
{
    g_autoptr(GOptionContext) options = g_option_context_new("-- COMMAND ARGS...");
    g_autoptr(GError) error = NULL;
    SaLinkConfig config;
    int status;

    g_option_context_set_summary(
        options, "Runs COMMAND with SA_NS_SERVER and SA_NS_CLIENT set to prefixes that "
                 "run a program at the\nserver's (10.77.0.1, fd77::1) and the client's "
                 "(10.77.0.2, fd77::2) end of a shaped link.");
    g_option_context_add_main_entries(options, entries, NULL);
    g_option_context_set_strict_posix(options, TRUE);
    if (!g_option_context_parse(options, &argc, &argv, &error))
        return complain(error, 2);
    argv++;
    argc--;
    if (argc > 0 && g_str_equal(argv[0], "--")) {
        argv++;
        argc--;
    }

    if (opt_queue < 0) {
        fprintf(stderr, "link: --queue %" G_GINT64_FORMAT ": expected bytes\n", opt_queue);
        return 2;
    }
    if (!sa_link_config_init(&config, opt_rtt, opt_rate ? opt_rate : "0", (guint64)opt_queue,
                             opt_loss, (guint32)opt_seed, opt_steps, opt_outages, &error))
        return complain(error, 2);
    if (opt_selftest) {
        status = sa_link_selftest(opt_selftest_only, opt_skew);
    } else if (opt_probe) {
        status = sa_link_selftest_probe(&config);
    } else if (argc == 0) {
        fprintf(stderr, "link: no COMMAND given (see --help)\n");
        status = 2;
    } else if (opt_exec) {
        status = exec_inside(argv);
    } else {
        status = run_link(&config, argv);
    }
    sa_link_config_clear(&config);
    return status;
}
