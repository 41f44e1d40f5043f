/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "demo.h"

#include "anim.h"
#include "events.h"

#include <sys/resource.h>

struct SaDemo {
    const SaServerOptions *options;
    SaSceneConfig scene; /* of display 0 */
    SaGuest *guests[SA_MAX_DISPLAYS];
    SaActivity activity;
    SaAnim anim;
    gboolean started; /* the animation has been started once, or was asked to stay frozen */
    gboolean frozen;
    gboolean frozen_reported;
    guint32 keys;
    guint32 keys_drawn; /* handed over */
    guint64 frames_skipped;
    guint64 ticks;
    guint tick_source;
    guint frame_source;
    guint start_source;
    gint64 next_tick;
};

static SaSceneConfig
scene_of(const SaDemo *demo, gint display)
{
    SaSceneConfig config = demo->scene;

    config.seed += (guint32)display;
    return config;
}

static void
paint_all(SaDemo *demo)
{
    for (gint i = 0; i < demo->options->displays; i++)
        sa_guest_paint_all(demo->guests[i], demo->activity, demo->anim.frame, demo->keys);
}

static void schedule_frame(SaDemo *demo);

/* The frame that is due, once it has changed. */
static void
advance(SaDemo *demo)
{
    guint32 before = demo->anim.frame;

    if (!sa_anim_advance(&demo->anim, g_get_monotonic_time()))
        return;
    demo->frames_skipped += demo->anim.frame - before - 1;
    for (gint i = 0; i < demo->options->displays; i++)
        sa_guest_paint_frame(demo->guests[i], demo->activity, demo->anim.frame);
}

static gboolean
frame_due(gpointer data)
{
    SaDemo *demo = data;

    demo->frame_source = 0;
    advance(demo);
    if (!demo->anim.running && demo->anim.freeze_at >= 0)
        demo->frozen = TRUE;
    schedule_frame(demo);
    return G_SOURCE_REMOVE;
}

/* GLib waits in whole milliseconds, rounded up: a frame or tick is late by less than one. */
static guint
add_timer(gint64 when, GSourceFunc func, gpointer data)
{
    gint64 wait = MAX(when - g_get_monotonic_time(), 0);

    return g_timeout_add_full(G_PRIORITY_DEFAULT, (guint)((wait + 999) / 1000), func, data, NULL);
}

static void
schedule_frame(SaDemo *demo)
{
    gint64 next = sa_anim_next(&demo->anim);

    g_clear_handle_id(&demo->frame_source, g_source_remove);
    if (next >= 0 && demo->activity != SA_ACTIVITY_IDLE)
        demo->frame_source = add_timer(next, frame_due, demo);
}

static void
report_frozen(SaDemo *demo)
{
    for (gint i = 0; i < demo->options->displays; i++) {
        if (!sa_guest_settled(demo->guests[i]))
            return;
    }
    demo->frozen_reported = TRUE;
    sa_event("frozen", g_get_monotonic_time(), "\"frame\":%u,\"keys\":%u", demo->anim.frame,
             demo->keys);
}

static void
tick(SaDemo *demo)
{
    gboolean handed_over = TRUE;

    demo->ticks++;
    for (gint i = 0; i < demo->options->displays; i++)
        handed_over = sa_guest_tick(demo->guests[i]) && handed_over;
    if (handed_over && demo->keys_drawn != demo->keys) {
        gint64 now = g_get_monotonic_time();

        while (demo->keys_drawn != demo->keys)
            sa_event("key-drawn", now, "\"number\":%u", ++demo->keys_drawn);
    }
    if (demo->frozen && !demo->frozen_reported)
        report_frozen(demo);
}

static gboolean
tick_due(gpointer data)
{
    SaDemo *demo = data;
    gint64 now = g_get_monotonic_time();

    /* Counted from the start of this tick, as qemu's refresh timer. */
    demo->tick_source = add_timer(now + demo->options->tick_ms * 1000, tick_due, demo);
    tick(demo);
    return G_SOURCE_REMOVE;
}

SaDemo *
sa_demo_new(SpiceServer *server, const SaServerOptions *options)
{
    SaDemo *demo = g_new0(SaDemo, 1);

    demo->options = options;
    demo->scene = options->scene;
    demo->activity = options->activity;
    sa_anim_init(&demo->anim, options->fps);
    sa_anim_freeze_at(&demo->anim, options->freeze_at);
    demo->frozen = options->freeze_at == 0;
    demo->started = demo->frozen;
    for (gint i = 0; i < options->displays; i++) {
        SaSceneConfig config = scene_of(demo, i);

        demo->guests[i] = sa_guest_new(server, i, &config, options->damage, options->draws);
        if (!demo->guests[i]) {
            sa_demo_free(demo);
            return NULL;
        }
    }
    spice_server_vm_start(server);
    paint_all(demo);
    /* Whoever connects first gets the whole picture, not a half of it. */
    for (gint i = 0; i < options->displays; i++) {
        sa_guest_tick(demo->guests[i]);
        sa_guest_flush(demo->guests[i]);
    }
    demo->tick_source = add_timer(g_get_monotonic_time() + options->tick_ms * 1000, tick_due, demo);
    return demo;
}

void
sa_demo_stop(SaDemo *demo)
{
    g_clear_handle_id(&demo->tick_source, g_source_remove);
    g_clear_handle_id(&demo->frame_source, g_source_remove);
    g_clear_handle_id(&demo->start_source, g_source_remove);
}

void
sa_demo_free(SaDemo *demo)
{
    if (!demo)
        return;
    for (gint i = 0; i < SA_MAX_DISPLAYS; i++)
        sa_guest_free(demo->guests[i]);
    g_free(demo);
}

void
sa_demo_key(SaDemo *demo, guint scancode)
{
    demo->keys++;
    sa_event("key", g_get_monotonic_time(), "\"number\":%u,\"scancode\":%u", demo->keys, scancode);
    for (gint i = 0; i < demo->options->displays; i++)
        sa_guest_paint_key(demo->guests[i], demo->keys);
}

void
sa_demo_move_cursor(SaDemo *demo, gint x, gint y)
{
    sa_guest_move_cursor(demo->guests[0], x, y);
}

static void
start(SaDemo *demo)
{
    gint64 now = g_get_monotonic_time();

    demo->started = TRUE;
    demo->frozen = FALSE;
    demo->frozen_reported = FALSE;
    sa_anim_start(&demo->anim, now);
    /* An idle guest has no frames to wait for, and one that is past its last frame has none left.
     */
    if (demo->anim.freeze_at >= 0 && (demo->activity == SA_ACTIVITY_IDLE || !demo->anim.running))
        demo->frozen = TRUE;
    sa_event("started", now, "\"frame\":%u,\"activity\":\"%s\",\"fps\":%d", demo->anim.frame,
             sa_activity_name(demo->activity), demo->options->fps);
    schedule_frame(demo);
}

static gboolean
start_due(gpointer data)
{
    SaDemo *demo = data;

    demo->start_source = 0;
    start(demo);
    return G_SOURCE_REMOVE;
}

void
sa_demo_display_connected(SaDemo *demo)
{
    if (demo->started)
        return;
    demo->started = TRUE;
    demo->start_source = g_timeout_add((guint)demo->options->activity_delay_ms, start_due, demo);
}

static void
set_frozen(SaDemo *demo)
{
    /* A client that connects later does not start it behind the back of whoever asked. */
    g_clear_handle_id(&demo->start_source, g_source_remove);
    demo->started = TRUE;
    demo->frozen = TRUE;
    demo->frozen_reported = FALSE;
    schedule_frame(demo);
}

void
sa_demo_freeze(SaDemo *demo)
{
    sa_anim_stop(&demo->anim);
    set_frozen(demo);
}

void
sa_demo_freeze_at(SaDemo *demo, guint32 frame)
{
    sa_anim_freeze_at(&demo->anim, frame);
    if (demo->activity == SA_ACTIVITY_IDLE || demo->anim.frame >= frame)
        sa_demo_freeze(demo);
}

void
sa_demo_resume(SaDemo *demo)
{
    g_clear_handle_id(&demo->start_source, g_source_remove);
    if (demo->anim.freeze_at >= 0 && demo->anim.frame >= demo->anim.freeze_at)
        sa_anim_freeze_at(&demo->anim, -1);
    start(demo);
}

void
sa_demo_set_activity(SaDemo *demo, SaActivity activity)
{
    gint64 now = g_get_monotonic_time();
    gboolean running = demo->anim.running;

    /* While idle no frames are counted. */
    sa_anim_stop(&demo->anim);
    demo->activity = activity;
    if (running)
        sa_anim_start(&demo->anim, now);
    paint_all(demo);
    demo->frozen_reported = FALSE;
    sa_event("activity", now, "\"activity\":\"%s\",\"frame\":%u", sa_activity_name(activity),
             demo->anim.frame);
    schedule_frame(demo);
}

gboolean
sa_demo_resize(SaDemo *demo, gint width, gint height, GError **error)
{
    SaSceneConfig scene = demo->options->wanted;

    scene.width = width;
    scene.height = height;
    if (!sa_scene_config_complete(&scene, error))
        return FALSE;
    demo->scene = scene;
    for (gint i = 0; i < demo->options->displays; i++) {
        SaSceneConfig config = scene_of(demo, i);

        sa_guest_resize(demo->guests[i], &config);
    }
    paint_all(demo);
    demo->frozen_reported = FALSE;
    sa_event("resized", g_get_monotonic_time(), "\"width\":%d,\"height\":%d", width, height);
    return TRUE;
}

void
sa_demo_draw_all(SaDemo *demo)
{
    for (gint i = 0; i < demo->options->displays; i++)
        sa_guest_send_all(demo->guests[i]);
    demo->frozen_reported = FALSE;
}

void
sa_demo_report_stats(SaDemo *demo)
{
    SaGuestStats sum = {0};
    guint64 draws = 0;
    guint64 pixels = 0;
    guint queued = 0;
    struct rusage usage;
    gint64 cpu;

    for (gint i = 0; i < demo->options->displays; i++) {
        const SaGuestStats *stats = sa_guest_stats(demo->guests[i]);

        sum.frames += stats->frames;
        sum.frames_lost += stats->frames_lost;
        sum.ticks_blocked += stats->ticks_blocked;
        sum.queued_max = MAX(sum.queued_max, stats->queued_max);
        sum.paint_us += stats->paint_us;
        draws += sa_guest_draws(demo->guests[i]);
        pixels += sa_guest_pixels(demo->guests[i]);
        queued += sa_guest_queued(demo->guests[i]);
    }
    getrusage(RUSAGE_SELF, &usage);
    cpu = (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * G_USEC_PER_SEC +
          usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
    sa_event("stats", g_get_monotonic_time(),
             "\"activity\":\"%s\",\"frame\":%u,\"keys\":%u,\"frames_drawn\":%" G_GUINT64_FORMAT
             ",\"frames_lost\":%" G_GUINT64_FORMAT ",\"frames_skipped\":%" G_GUINT64_FORMAT
             ",\"ticks\":%" G_GUINT64_FORMAT ",\"ticks_blocked\":%" G_GUINT64_FORMAT
             ",\"draws\":%" G_GUINT64_FORMAT ",\"pixels\":%" G_GUINT64_FORMAT
             ",\"queued\":%u,\"queued_max\":%u,\"paint_us\":%" G_GINT64_FORMAT
             ",\"cpu_us\":%" G_GINT64_FORMAT,
             sa_activity_name(demo->activity), demo->anim.frame, demo->keys, sum.frames,
             sum.frames_lost, demo->frames_skipped, demo->ticks, sum.ticks_blocked, draws, pixels,
             queued, sum.queued_max, sum.paint_us, cpu);
}
