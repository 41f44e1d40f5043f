/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gtk3/paint.h"

#include "gtk3/displays.h"
#include "gtk3/hold.h"

/* One step behind the sources that spice-gtk invalidates from (G_PRIORITY_DEFAULT_IDLE): it runs
 * when the last rectangle of the batch is invalid. A stream of draws without a gap keeps it from
 * running; GTK's clock, which outranks both, paints that as ever. */
#define PAINT_PRIORITY (G_PRIORITY_DEFAULT_IDLE + 1)

static struct {
    gboolean started;
    guint source; /* the next extra paint; 0: nothing is fresh */
    gint64 due;   /* when the paints made so far are paid for, monotonic time */
    SaPaintCounts counts;
} paint;

/* Does GTK want to lay out this window before it is painted again? A GtkWindow listens to its
 * clock's "layout" exactly while a resize or a restyle is pending. Painting then would show
 * children at their old places, or ask widgets without a size to draw. Should a program listen
 * there for good, its windows are left to the clock for good. */
static gboolean
layout_pending(GdkFrameClock *clock)
{
    static guint layout;

    if (layout == 0) {
        layout = g_signal_lookup("layout", GDK_TYPE_FRAME_CLOCK);
    }
    return g_signal_has_handler_pending(clock, layout, 0, FALSE);
}

/* Only where painting shows at once: on Wayland a frame is committed by the frame clock alone, and
 * releasing the held window is all there is to do. By name, so that a GTK without the X11 backend
 * can load this too. */
static gboolean
is_x11(GdkDisplay *display)
{
    const GType type = g_type_from_name("GdkX11Display");

    return type != 0 && g_type_is_a(G_OBJECT_TYPE(display), type);
}

static gboolean
paint_window(GtkWidget *toplevel)
{
    GdkWindow *window = gtk_widget_get_window(toplevel);
    GdkDisplay *display = gtk_widget_get_display(toplevel);
    GdkFrameClock *clock = gdk_window_get_frame_clock(window);

    if (!is_x11(display) || clock == NULL || layout_pending(clock)) {
        return FALSE;
    }
    /* Deprecated in favour of the frame clock, which is what has to be got ahead of here. It does
     * nothing while the window is frozen for a resize or is being painted. */
    G_GNUC_BEGIN_IGNORE_DEPRECATIONS
    gdk_window_process_updates(window, TRUE);
    G_GNUC_END_IGNORE_DEPRECATIONS
    gdk_display_flush(display);
    return TRUE;
}

static gboolean
paint_fresh(gpointer data)
{
    const gint64 start = g_get_monotonic_time();
    g_autoptr(GPtrArray) windows = NULL;
    guint painted = 0;

    paint.source = 0;
    sa_hold_release();
    windows = sa_displays_take_fresh();
    for (guint i = 0; i < windows->len; i++) {
        GtkWidget *window = windows->pdata[i];

        /* In a main loop that runs inside a source's callback: that may be a draw handler's. */
        if (g_main_depth() > 1 || !gtk_widget_is_drawable(window) || !paint_window(window)) {
            paint.counts.left++;
            continue;
        }
        painted++;
    }
    if (painted > 0) {
        const gint64 cost = g_get_monotonic_time() - start;

        paint.counts.paints += painted;
        paint.due =
            MAX(paint.due, start) + MAX(painted * SA_PAINT_INTERVAL_US, cost * SA_PAINT_SHARE);
    }
    return G_SOURCE_REMOVE;
}

/* Microseconds until the next extra paint may be made; 0 or less: now. */
static gint64
paint_wait(void)
{
    return paint.due - SA_PAINT_AHEAD_US - g_get_monotonic_time();
}

/* A window's first rectangle of a batch. Not while an extra paint has to wait for its turn: GTK's
 * clock may come first. */
static void
begin_batch(GtkWidget *window)
{
    if (paint_wait() <= 0) {
        sa_hold_window(window);
    }
}

static gboolean
on_invalidate(GSignalInvocationHint *hint, guint n_values, const GValue *values, gpointer data)
{
    gint64 wait;

    /* An emission hook comes before the widgets' own handlers. It only holds the window back and
     * arms a source: nothing is painted from inside an emission. */
    if (!sa_displays_mark_fresh(g_value_get_object(&values[0]), begin_batch) || paint.source != 0) {
        return TRUE;
    }
    wait = paint_wait();
    if (wait <= 0) {
        paint.source = g_idle_add_full(PAINT_PRIORITY, paint_fresh, NULL, NULL);
    } else {
        const guint ms = (wait + G_TIME_SPAN_MILLISECOND - 1) / G_TIME_SPAN_MILLISECOND;

        paint.source = g_timeout_add_full(PAINT_PRIORITY, ms, paint_fresh, NULL, NULL);
    }
    g_source_set_name_by_id(paint.source, "[spice-accel] paint");
    return TRUE;
}

void
sa_paint_start(void)
{
    if (paint.started) {
        return;
    }
    paint.started = TRUE;
    sa_displays_start();
    /* the class, so that its signals exist, and for good */
    g_type_class_ref(SPICE_TYPE_DISPLAY_CHANNEL);
    g_signal_add_emission_hook(g_signal_lookup("display-invalidate", SPICE_TYPE_DISPLAY_CHANNEL), 0,
                               on_invalidate, NULL, NULL);
}

SaPaintCounts
sa_paint_counts(void)
{
    return paint.counts;
}
