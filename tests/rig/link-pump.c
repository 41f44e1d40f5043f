/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "link-pump.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "link-shaper.h"

/* Reading stops for deliveries after this many packets, and the other way round, so that neither
 * side of a device waits for the other. */
#define BATCH 32

/* Two rounds lie at least this far apart: a packet that meets a sleeping link is served at once,
 * the packets of a busy fast one share a round, each at most this late. Halves the cost at 100
 * Mbit/s. */
#define ROUND_NS 200000

struct SaLinkPump {
    const SaLinkConfig *config;
    GThread *thread;
    int stop_fd;
    int in_fd[SA_LINK_DIRECTIONS];
    int out_fd[SA_LINK_DIRECTIONS];
    SaLinkShaper *shaper[SA_LINK_DIRECTIONS];
    guint64 write_errors[SA_LINK_DIRECTIONS];
    gint64 start_ns;
    gint64 cpu_ns;
    gboolean realtime;
    guint8 packet[65536];
};

static gint64
clock_ns(clockid_t id)
{
    struct timespec ts;

    clock_gettime(id, &ts);
    return (gint64)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static void
rest_until(gint64 at)
{
    struct timespec ts = {(time_t)(at / 1000000000), (long)(at % 1000000000)};

    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
}

/* Both: TRUE if there may be more than one batch. */
static gboolean
take(SaLinkPump *pump, guint dir)
{
    gint64 now = clock_ns(CLOCK_MONOTONIC);
    guint i;

    for (i = 0; i < BATCH; i++) {
        gssize n = read(pump->in_fd[dir], pump->packet, sizeof(pump->packet));

        if (n <= 0)
            return FALSE;
        sa_link_shaper_push(pump->shaper[dir], now, pump->packet, (gsize)n);
    }
    return TRUE;
}

static gboolean
deliver(SaLinkPump *pump, guint dir)
{
    guint i;

    for (i = 0; i < BATCH; i++) {
        SaLinkPacket *packet = sa_link_shaper_pop(pump->shaper[dir], clock_ns(CLOCK_MONOTONIC));

        if (!packet)
            return FALSE;
        /* A TUN device takes a packet whole or not at all; refusing one is like losing it. */
        if (write(pump->out_fd[dir], packet->data, packet->size) != (gssize)packet->size)
            pump->write_errors[dir]++;
        g_free(packet);
    }
    return TRUE;
}

static gpointer
run(gpointer data)
{
    SaLinkPump *pump = data;
    struct sched_param priority = {.sched_priority = 1};
    struct pollfd fds[3] = {
        {.fd = pump->in_fd[SA_LINK_DOWN], .events = POLLIN},
        {.fd = pump->in_fd[SA_LINK_UP], .events = POLLIN},
        {.fd = pump->stop_fd, .events = POLLIN},
    };

    /* Without this the kernel may wake us 50 us late on purpose. */
    prctl(PR_SET_TIMERSLACK, 1UL);
    pump->realtime = sched_setscheduler(0, SCHED_FIFO, &priority) == 0;

    for (;;) {
        gint64 next = MIN(sa_link_shaper_next(pump->shaper[SA_LINK_DOWN]),
                          sa_link_shaper_next(pump->shaper[SA_LINK_UP]));
        struct timespec wait = {0, 0};
        gboolean more = FALSE;
        gint64 woken;
        guint dir;

        if (next != SA_LINK_NEVER) {
            gint64 left = next - clock_ns(CLOCK_MONOTONIC);
            gint64 ns = MAX(left, 0);

            wait.tv_sec = (time_t)(ns / 1000000000);
            wait.tv_nsec = (long)(ns % 1000000000);
        }
        if (ppoll(fds, G_N_ELEMENTS(fds), next == SA_LINK_NEVER ? NULL : &wait, NULL) < 0 &&
            errno != EINTR) {
            perror("link: ppoll");
            break;
        }
        if (fds[2].revents)
            break;
        woken = clock_ns(CLOCK_MONOTONIC);
        for (dir = 0; dir < SA_LINK_DIRECTIONS; dir++) {
            if (fds[dir].revents)
                more |= take(pump, dir);
            more |= deliver(pump, dir);
        }
        if (!more)
            rest_until(woken + ROUND_NS);
    }
    pump->cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    return NULL;
}

SaLinkPump *
sa_link_pump_start(const SaLinkConfig *config, int server_fd, int client_fd)
{
    SaLinkPump *pump = g_new0(SaLinkPump, 1);
    guint dir;

    pump->config = config;
    pump->stop_fd = eventfd(0, EFD_CLOEXEC);
    pump->in_fd[SA_LINK_DOWN] = pump->out_fd[SA_LINK_UP] = server_fd;
    pump->in_fd[SA_LINK_UP] = pump->out_fd[SA_LINK_DOWN] = client_fd;
    pump->start_ns = clock_ns(CLOCK_MONOTONIC);
    for (dir = 0; dir < SA_LINK_DIRECTIONS; dir++) {
        SaLinkShaperConfig shaper = {
            .delay_ns = (gint64)(config->rtt_ms * 1e6 / 2),
            .queue_max = config->queue[dir],
            .loss = config->loss,
            .seed = config->seed + dir, /* the two directions lose different packets */
            .rates = config->rates[dir],
        };

        pump->shaper[dir] = sa_link_shaper_new(&shaper, pump->start_ns);
    }
    pump->thread = g_thread_new("link", run, pump);
    return pump;
}

static void
append_direction(SaLinkPump *pump, guint dir, GString *out)
{
    const SaLinkShaperStats *stats = sa_link_shaper_stats(pump->shaper[dir]);

    g_string_append_printf(out,
                           "{\"mbit\":%.3f,\"queue_max\":%" G_GUINT64_FORMAT
                           ",\"packets_in\":%" G_GUINT64_FORMAT ",\"packets\":%" G_GUINT64_FORMAT
                           ",\"bytes\":%" G_GUINT64_FORMAT ",\"drop_queue\":%" G_GUINT64_FORMAT
                           ",\"drop_loss\":%" G_GUINT64_FORMAT ",\"drop_memory\":%" G_GUINT64_FORMAT
                           ",\"write_errors\":%" G_GUINT64_FORMAT
                           ",\"queue_peak\":%" G_GUINT64_FORMAT ",\"queueing_ms\":",
                           pump->config->mbit[dir], pump->config->queue[dir], stats->packets_in,
                           stats->packets, stats->bytes, stats->drop_queue, stats->drop_loss,
                           stats->drop_memory, pump->write_errors[dir], stats->queue_peak);
    sa_link_hist_json(&stats->queueing, out);
    g_string_append(out, ",\"lateness_ms\":");
    sa_link_hist_json(&stats->lateness, out);
    g_string_append_c(out, '}');
}

char *
sa_link_pump_stop(SaLinkPump *pump)
{
    GString *out = g_string_new(NULL);
    guint64 one = 1;
    double seconds;
    guint dir;

    if (write(pump->stop_fd, &one, sizeof(one)) != sizeof(one))
        perror("link: eventfd");
    g_thread_join(pump->thread);
    seconds = (double)(clock_ns(CLOCK_MONOTONIC) - pump->start_ns) / 1e9;

    g_string_append_printf(out,
                           "{\"rtt_ms\":%.3f,\"loss_pct\":%.4f,\"seed\":%u,\"seconds\":%.3f,"
                           "\"cpu_cores\":%.4f,\"realtime\":%s,\"down\":",
                           pump->config->rtt_ms, pump->config->loss * 100, pump->config->seed,
                           seconds, (double)pump->cpu_ns / 1e9 / MAX(seconds, 1e-3),
                           pump->realtime ? "true" : "false");
    append_direction(pump, SA_LINK_DOWN, out);
    g_string_append(out, ",\"up\":");
    append_direction(pump, SA_LINK_UP, out);
    g_string_append_c(out, '}');

    for (dir = 0; dir < SA_LINK_DIRECTIONS; dir++)
        sa_link_shaper_free(pump->shaper[dir]);
    close(pump->stop_fd);
    g_free(pump);
    return g_string_free(out, FALSE);
}
