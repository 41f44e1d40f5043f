/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "client/gtk3.h"

#include <dlfcn.h>
#include <link.h>
#include <spice-client.h>
#include <string.h>

#include "client/warn.h"

#define OBJECT "libspice-accel-gtk3.so"

typedef gboolean (*Start)(gboolean paint);

/* Seen from this library's directory: installed in LIBDIR, and in a build tree. */
static const char *const places[] = {
    "spice-accel/" OBJECT,
    "../../plugin/gtk3/" OBJECT,
};

static gboolean paint_option;

typedef struct {
    gboolean gtk3, gtk4;
} Toolkits;

static int
note_toolkit(struct dl_phdr_info *info, size_t size, void *data)
{
    Toolkits *toolkits = data;
    const char *slash = strrchr(info->dlpi_name, '/');
    const char *name = slash != NULL ? slash + 1 : info->dlpi_name;

    toolkits->gtk3 = toolkits->gtk3 || g_str_has_prefix(name, "libgtk-3.so");
    toolkits->gtk4 = toolkits->gtk4 || g_str_has_prefix(name, "libgtk-4.so");
    return 0;
}

static char *
find_object(void)
{
    g_autofree char *directory = NULL;
    Dl_info info;

    if (dladdr((void *)note_toolkit, &info) == 0 || info.dli_fname == NULL) {
        return NULL;
    }
    directory = g_path_get_dirname(info.dli_fname);
    for (gsize i = 0; i < G_N_ELEMENTS(places); i++) {
        g_autofree char *path = g_build_filename(directory, places[i], NULL);

        if (g_file_test(path, G_FILE_TEST_EXISTS)) {
            return g_steal_pointer(&path);
        }
    }
    return NULL;
}

static Start
load_object(void)
{
    g_autofree char *path = find_object();
    Start start = NULL;
    void *handle;

    if (path == NULL) {
        return NULL; /* not installed: a system without GTK 3 programs */
    }
    handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (handle != NULL) {
        *(void **)&start = dlsym(handle, "spice_accel_gtk3_start");
    }
    if (start == NULL) {
        sa_warn("cannot load %s: %s", path, dlerror());
    }
    return start;
}

static gboolean
channel_new(GSignalInvocationHint *hint, guint n, const GValue *values, gpointer data)
{
    static Start start;
    Toolkits toolkits = {FALSE, FALSE};

    if (start == NULL) {
        dl_iterate_phdr(note_toolkit, &toolkits);
        if (!toolkits.gtk3 || toolkits.gtk4) {
            return TRUE; /* a Python program may bring GTK in later */
        }
        start = load_object();
        if (start == NULL) {
            return FALSE;
        }
    }
    return !start(paint_option); /* without a display: ask again at the next channel */
}

void
sa_gtk3_start(gboolean paint)
{
    paint_option = paint;
    if (!paint) {
        return; /* it would have nothing to do */
    }
    /* the signal exists once the class does */
    g_type_class_ref(SPICE_TYPE_SESSION);
    g_signal_add_emission_hook(g_signal_lookup("channel-new", SPICE_TYPE_SESSION), 0, channel_new,
                               NULL, NULL);
}
