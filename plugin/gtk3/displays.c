/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gtk3/displays.h"

#include <string.h>

#define DISPLAY_TYPE "SpiceDisplay"

/* The page of a SpiceDisplay's stack that shows the primary surface. */
#define DRAWING_PAGE "draw-area"

static GPtrArray *displays; /* SaDisplay; NULL: not started */

static SaDisplay *
find(GtkWidget *widget)
{
    for (guint i = 0; i < displays->len; i++) {
        SaDisplay *display = displays->pdata[i];

        if (display->widget == widget) {
            return display;
        }
    }
    return NULL;
}

static void
widget_gone(gpointer data, GObject *widget)
{
    g_ptr_array_remove_fast(displays, data);
}

static gboolean
is_display(GtkWidget *widget)
{
    /* 0 until the type exists, and then no widget is of it */
    const GType type = g_type_from_name(DISPLAY_TYPE);

    return type != 0 && g_type_is_a(G_OBJECT_TYPE(widget), type);
}

static void
add(GtkWidget *widget)
{
    GObjectClass *klass = G_OBJECT_GET_CLASS(widget);
    g_autoptr(GObject) session = NULL;
    SaDisplay *display;

    if (find(widget) != NULL || g_object_class_find_property(klass, "session") == NULL ||
        g_object_class_find_property(klass, "channel-id") == NULL) {
        return;
    }
    display = g_new0(SaDisplay, 1);
    display->widget = widget;
    g_object_get(widget, "session", &session, "channel-id", &display->channel_id, NULL);
    display->session = session;
    g_ptr_array_add(displays, display);
    g_object_weak_ref(G_OBJECT(widget), widget_gone, display);
}

static gboolean
on_realize(GSignalInvocationHint *hint, guint n_values, const GValue *values, gpointer data)
{
    GtkWidget *widget = g_value_get_object(&values[0]);

    if (is_display(widget)) {
        add(widget);
    }
    return TRUE;
}

static void
scan(GtkWidget *widget, gpointer data)
{
    if (is_display(widget)) {
        add(widget);
    } else if (GTK_IS_CONTAINER(widget)) {
        gtk_container_forall(GTK_CONTAINER(widget), scan, NULL);
    }
}

void
sa_displays_start(void)
{
    GList *toplevels;

    if (displays != NULL) {
        return;
    }
    displays = g_ptr_array_new_with_free_func(g_free);
    g_type_class_unref(g_type_class_ref(GTK_TYPE_WIDGET)); /* its signals exist from here on */
    g_signal_add_emission_hook(g_signal_lookup("realize", GTK_TYPE_WIDGET), 0, on_realize, NULL,
                               NULL);
    toplevels = gtk_window_list_toplevels();
    for (GList *one = toplevels; one != NULL; one = one->next) {
        scan(one->data, NULL);
    }
    g_list_free(toplevels);
}

static void
find_gl(GtkWidget *widget, gpointer data)
{
    if (GTK_IS_GL_AREA(widget) && gtk_widget_get_realized(widget)) {
        *(gboolean *)data = TRUE;
    }
}

gboolean
sa_display_draws(GtkWidget *display)
{
    GtkWidget *stack = gtk_bin_get_child(GTK_BIN(display));
    gboolean gl = FALSE;

    if (!GTK_IS_STACK(stack) ||
        g_strcmp0(gtk_stack_get_visible_child_name(GTK_STACK(stack)), DRAWING_PAGE) != 0) {
        return FALSE;
    }
    gtk_container_forall(GTK_CONTAINER(stack), find_gl, &gl);
    return !gl;
}

/* The window on the screen that the display can be seen in, or NULL. */
static GtkWidget *
visible_window(GtkWidget *display)
{
    GtkWidget *toplevel = gtk_widget_get_toplevel(display);
    GdkWindow *window;

    if (!gtk_widget_is_drawable(display) || !GTK_IS_WINDOW(toplevel) ||
        !gtk_widget_is_drawable(toplevel) || !sa_display_draws(display)) {
        return NULL;
    }
    window = gtk_widget_get_window(toplevel);
    if (gdk_window_get_window_type(window) != GDK_WINDOW_TOPLEVEL ||
        !gdk_window_is_viewable(window) ||
        (gdk_window_get_state(window) &
         (GDK_WINDOW_STATE_ICONIFIED | GDK_WINDOW_STATE_WITHDRAWN))) {
        return NULL;
    }
    return toplevel;
}

gboolean
sa_displays_mark_fresh(SpiceChannel *channel, SaDisplaysFreshFunc first)
{
    g_autoptr(GObject) session = NULL;
    gboolean found = FALSE;
    int id = -1;

    if (displays->len == 0) {
        return FALSE;
    }
    g_object_get(channel, "spice-session", &session, "channel-id", &id, NULL);
    for (guint i = 0; i < displays->len; i++) {
        SaDisplay *display = displays->pdata[i];
        GtkWidget *window;

        if (display->session != session || display->channel_id != id) {
            continue;
        }
        found = TRUE;
        if (display->fresh) {
            continue;
        }
        display->fresh = TRUE;
        window = visible_window(display->widget);
        if (window != NULL) {
            first(window);
        }
    }
    return found;
}

GPtrArray *
sa_displays_take_fresh(void)
{
    GPtrArray *windows = g_ptr_array_new_with_free_func(g_object_unref);

    for (guint i = 0; i < displays->len; i++) {
        SaDisplay *display = displays->pdata[i];
        GtkWidget *window;

        if (!display->fresh) {
            continue;
        }
        display->fresh = FALSE;
        window = visible_window(display->widget);
        if (window != NULL && !g_ptr_array_find(windows, window, NULL)) {
            g_ptr_array_add(windows, g_object_ref(window));
        }
    }
    return windows;
}
