/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gtk3/hold.h"

static GPtrArray *held; /* GdkWindow; NULL: none */
static guint limit;     /* source that ends the hold */

/* Set on a window when it is released: the clock's frame at that time. */
static GQuark
released_quark(void)
{
    return g_quark_from_static_string("spice-accel-hold-released");
}

static gboolean
on_limit(gpointer data)
{
    limit = 0;
    sa_hold_release();
    return G_SOURCE_REMOVE;
}

void
sa_hold_window(GtkWidget *widget)
{
    GdkWindow *window = gtk_widget_get_window(widget);
    GdkFrameClock *clock = gdk_window_get_frame_clock(window);
    const gint64 *released = g_object_get_qdata(G_OBJECT(window), released_quark());

    if (clock == NULL ||
        (released != NULL && *released == gdk_frame_clock_get_frame_counter(clock)) ||
        (held != NULL && g_ptr_array_find(held, window, NULL))) {
        return;
    }
    if (held == NULL) {
        held = g_ptr_array_new_with_free_func(g_object_unref);
        /* ahead of the sources that a batch comes from, or a long one would keep it waiting */
        limit = g_timeout_add_full(GDK_PRIORITY_REDRAW, SA_HOLD_LIMIT_US / G_TIME_SPAN_MILLISECOND,
                                   on_limit, NULL, NULL);
        g_source_set_name_by_id(limit, "[spice-accel] hold");
    }
    gdk_window_freeze_updates(window);
    g_ptr_array_add(held, g_object_ref(window));
}

static void
release(GdkWindow *window)
{
    GdkFrameClock *clock;
    gint64 *released;

    if (gdk_window_is_destroyed(window)) {
        return;
    }
    clock = gdk_window_get_frame_clock(window);
    if (clock != NULL) {
        released = g_object_get_qdata(G_OBJECT(window), released_quark());
        if (released == NULL) {
            released = g_new(gint64, 1);
            g_object_set_qdata_full(G_OBJECT(window), released_quark(), released, g_free);
        }
        *released = gdk_frame_clock_get_frame_counter(clock);
    }
    gdk_window_thaw_updates(window);
}

void
sa_hold_release(void)
{
    g_autoptr(GPtrArray) windows = g_steal_pointer(&held);

    g_clear_handle_id(&limit, g_source_remove);
    for (guint i = 0; windows != NULL && i < windows->len; i++) {
        release(windows->pdata[i]);
    }
}
