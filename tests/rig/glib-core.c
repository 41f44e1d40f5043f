/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "glib-core.h"

#include <glib-unix.h>
#include <netinet/in.h>
#include <sys/socket.h>

enum {
    MAX_PORTS = 4,
};

struct SpiceTimer {
    SpiceTimerFunc func;
    gpointer opaque;
    guint source;
};

struct SpiceWatch {
    gint fd;
    SpiceWatchFunc func;
    gpointer opaque;
    guint source;
};

static struct {
    SaChannelEvent on_event;
    gpointer data;
    guint16 ports[MAX_PORTS];
    guint n_ports;
} core;

static SpiceTimer *
timer_add(SpiceTimerFunc func, void *opaque)
{
    SpiceTimer *timer = g_new0(SpiceTimer, 1);

    timer->func = func;
    timer->opaque = opaque;
    return timer;
}

static void
timer_cancel(SpiceTimer *timer)
{
    if (timer->source)
        g_source_remove(timer->source);
    timer->source = 0;
}

static gboolean
timer_due(gpointer data)
{
    SpiceTimer *timer = data;

    /* The function may start the timer again or remove it. */
    timer->source = 0;
    timer->func(timer->opaque);
    return G_SOURCE_REMOVE;
}

static void
timer_start(SpiceTimer *timer, uint32_t ms)
{
    timer_cancel(timer);
    timer->source = g_timeout_add(ms, timer_due, timer);
}

static void
timer_remove(SpiceTimer *timer)
{
    timer_cancel(timer);
    g_free(timer);
}

static gboolean
watch_ready(gint fd, GIOCondition condition, gpointer data)
{
    SpiceWatch *watch = data;
    gint events = 0;

    if (condition & (G_IO_IN | G_IO_HUP | G_IO_ERR))
        events |= SPICE_WATCH_EVENT_READ;
    if (condition & (G_IO_OUT | G_IO_ERR))
        events |= SPICE_WATCH_EVENT_WRITE;
    /* The watch may be gone afterwards; its source is then removed already. */
    watch->func(fd, events, watch->opaque);
    return G_SOURCE_CONTINUE;
}

static void
watch_update_mask(SpiceWatch *watch, int event_mask)
{
    GIOCondition condition = 0;

    if (watch->source)
        g_source_remove(watch->source);
    watch->source = 0;
    if (event_mask & SPICE_WATCH_EVENT_READ)
        condition |= G_IO_IN | G_IO_HUP | G_IO_ERR;
    if (event_mask & SPICE_WATCH_EVENT_WRITE)
        condition |= G_IO_OUT | G_IO_ERR;
    if (condition)
        watch->source = g_unix_fd_add(watch->fd, condition, watch_ready, watch);
}

/* Remembers the port of a listening socket. */
static void
note_port(gint fd)
{
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    gint listening = 0;
    socklen_t size = sizeof listening;

    if (core.n_ports == MAX_PORTS ||
        getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) < 0 || !listening ||
        getsockname(fd, (struct sockaddr *)&address, &length) < 0)
        return;
    if (address.ss_family == AF_INET)
        core.ports[core.n_ports++] = ntohs(((struct sockaddr_in *)&address)->sin_port);
    else if (address.ss_family == AF_INET6)
        core.ports[core.n_ports++] = ntohs(((struct sockaddr_in6 *)&address)->sin6_port);
}

static SpiceWatch *
watch_add(int fd, int event_mask, SpiceWatchFunc func, void *opaque)
{
    SpiceWatch *watch = g_new0(SpiceWatch, 1);

    note_port(fd);
    watch->fd = fd;
    watch->func = func;
    watch->opaque = opaque;
    watch_update_mask(watch, event_mask);
    return watch;
}

static void
watch_remove(SpiceWatch *watch)
{
    watch_update_mask(watch, 0);
    g_free(watch);
}

static void
channel_event(int event, SpiceChannelEventInfo *info)
{
    core.on_event(event, info, core.data);
}

SpiceCoreInterface *
sa_glib_core(SaChannelEvent on_event, gpointer data)
{
    static SpiceCoreInterface interface = {
        .base =
            {
                .type = SPICE_INTERFACE_CORE,
                .description = "GLib main loop",
                .major_version = SPICE_INTERFACE_CORE_MAJOR,
                .minor_version = SPICE_INTERFACE_CORE_MINOR,
            },
        .timer_add = timer_add,
        .timer_start = timer_start,
        .timer_cancel = timer_cancel,
        .timer_remove = timer_remove,
        .watch_add = watch_add,
        .watch_update_mask = watch_update_mask,
        .watch_remove = watch_remove,
        .channel_event = channel_event,
    };

    core.on_event = on_event;
    core.data = data;
    return &interface;
}

guint16
sa_glib_core_port(guint index)
{
    return index < core.n_ports ? core.ports[index] : 0;
}
