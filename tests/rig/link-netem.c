/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "link-netem.h"

#include <gio/gio.h>
#include <sys/types.h>

static void
join(gpointer data)
{
    if (!sa_link_ns_join(*(const pid_t *)data, NULL))
        _exit(126);
}

/* Runs one command line in an end's namespace; its complaint becomes the error. */
static gboolean
run(const SaLinkEnd *end, GError **error, const char *format, ...) G_GNUC_PRINTF(3, 4);

static gboolean
run(const SaLinkEnd *end, GError **error, const char *format, ...)
{
    g_autofree char *line = NULL;
    g_autofree char *complaint = NULL;
    g_auto(GStrv) argv = NULL;
    pid_t pid = end->pid;
    int status;
    va_list args;

    va_start(args, format);
    line = g_strdup_vprintf(format, args);
    va_end(args);
    argv = g_strsplit(line, " ", -1);
    if (!g_spawn_sync(NULL, argv, NULL, G_SPAWN_SEARCH_PATH | G_SPAWN_STDOUT_TO_DEV_NULL, join,
                      &pid, NULL, &complaint, &status, error))
        return FALSE;
    if (g_spawn_check_wait_status(status, NULL))
        return TRUE;
    g_set_error(error, G_IO_ERROR, G_IO_ERROR_FAILED, "%s: %s", line, g_strstrip(complaint));
    return FALSE;
}

gboolean
sa_link_netem_setup(const SaLinkConfig *config, const SaLinkEnd ends[SA_LINK_SIDES], GError **error)
{
    guint side;

    if (config->changes) {
        g_set_error_literal(error, G_IO_ERROR, G_IO_ERROR_NOT_SUPPORTED,
                            "--netem: --step and --outage need the user-space link");
        return FALSE;
    }
    if (!run(&ends[SA_LINK_SERVER], error, "tc qdisc add dev lo root netem delay 1ms")) {
        g_prefix_error(error, "--netem: this kernel has no sch_netem, or tc is missing: ");
        return FALSE;
    }
    if (!run(&ends[SA_LINK_SERVER], error, "tc qdisc del dev lo root") ||
        !run(&ends[SA_LINK_SERVER], error,
             "ip link add " SA_LINK_DEVICE " type veth peer name " SA_LINK_DEVICE " netns %d",
             (int)ends[SA_LINK_CLIENT].pid))
        return FALSE;

    for (side = 0; side < SA_LINK_SIDES; side++) {
        const SaLinkEnd *end = &ends[side];
        /* The server's end shapes what goes down. */
        guint dir = side == SA_LINK_SERVER ? SA_LINK_DOWN : SA_LINK_UP;
        g_autofree char *rate = NULL;
        g_autofree char *loss = NULL;
        /* netem counts packets, those in its delay line included. */
        guint64 line = (guint64)(config->mbit[dir] * 1e3 / 8 * config->rtt_ms / 2);
        guint64 limit = (config->queue[dir] + line) / SA_LINK_MTU + 1;

        if (config->mbit[dir] > 0)
            rate = g_strdup_printf(" rate %.0fkbit", config->mbit[dir] * 1000);
        else
            limit = 100000;
        if (config->loss > 0)
            loss = g_strdup_printf(" loss %.4f%%", config->loss * 100);
        /* Without the cap TCP hands over super-packets of 64 KiB, each counted as one. */
        if (!run(end, error, "ip link set dev " SA_LINK_DEVICE " mtu %u gso_max_segs 1",
                 SA_LINK_MTU) ||
            !run(end, error, "ip addr add %s/24 dev " SA_LINK_DEVICE, sa_link_ipv4[side]) ||
            !run(end, error, "ip -6 addr add %s/64 dev " SA_LINK_DEVICE " nodad",
                 sa_link_ipv6[side]) ||
            !run(end, error, "ip link set dev " SA_LINK_DEVICE " up") ||
            !run(end, error,
                 "tc qdisc add dev " SA_LINK_DEVICE " root netem limit %" G_GUINT64_FORMAT
                 " delay %.3fms%s%s",
                 limit, config->rtt_ms / 2, rate ? rate : "", loss ? loss : ""))
            return FALSE;
    }
    return TRUE;
}
