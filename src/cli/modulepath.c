/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/modulepath.h"

#include <stdlib.h>
#include <string.h>

#include "plugin/client-library.h"

/* SA_MODULE_DIRS: from the directory of the command to that of the module, or absolute;
 * SA_GTK_LIBDIR: where GTK 3 lies on this system. Both from meson.build. */
static const char *const module_dirs[] = {SA_MODULE_DIRS, "../../plugin"};

/* An existing file's path without links and dots, g_free(). */
static char *
real_path(const char *directory, const char *name)
{
    g_autofree char *path = g_build_filename(directory, name, NULL);
    char *real = realpath(path, NULL);
    char *copy = g_strdup(real);

    free(real);
    return copy;
}

char *
sa_module_path(GError **error)
{
    g_autoptr(GError) failure = NULL;
    g_autofree char *self = g_file_read_link("/proc/self/exe", &failure);
    g_autofree char *own_directory = NULL;
    g_autoptr(GString) looked = g_string_new(NULL);

    if (!self) {
        g_propagate_error(error, g_steal_pointer(&failure));
        return NULL;
    }
    own_directory = g_path_get_dirname(self);
    for (guint i = 0; i < G_N_ELEMENTS(module_dirs); i++) {
        g_autofree char *directory = g_path_is_absolute(module_dirs[i])
                                         ? g_strdup(module_dirs[i])
                                         : g_build_filename(own_directory, module_dirs[i], NULL);
        g_autofree char *shown = g_canonicalize_filename(directory, "/");
        char *path = real_path(directory, SA_MODULE_FILE);

        if (path)
            return path;
        g_string_append_printf(looked, "%s%s", looked->len ? " and " : "", shown);
    }
    g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NOENT, "cannot find %s in %s", SA_MODULE_FILE,
                looked->str);
    return NULL;
}

char *
sa_module_client_library(const char *module_path)
{
    g_autofree char *directory = g_path_get_dirname(module_path);

    for (guint i = 0; i < G_N_ELEMENTS(sa_client_places); i++) {
        char *path = real_path(directory, sa_client_places[i]);

        if (path)
            return path;
    }
    return g_strdup(SA_CLIENT_LIBRARY);
}

/* GTK looks in each base under its version and without it. It also knows a directory of its host
 * triplet, which no distribution uses. */
static char *
find_in_base(const char *base)
{
    static const char *const below[] = {"3.0.0/modules", "modules"};

    for (guint i = 0; i < G_N_ELEMENTS(below); i++) {
        g_autofree char *path = g_build_filename(base, below[i], SA_MODULE_FILE, NULL);

        if (g_file_test(path, G_FILE_TEST_EXISTS))
            return g_steal_pointer(&path);
    }
    return NULL;
}

char *
sa_module_gtk_finds(void)
{
    const char *gtk_path = g_getenv("GTK_PATH");
    const char *prefix = g_getenv("GTK_EXE_PREFIX");
    g_auto(GStrv) own = g_strsplit(gtk_path ? gtk_path : "", ":", -1);
    g_autoptr(GPtrArray) bases = g_ptr_array_new_with_free_func(g_free);

    for (guint i = 0; own[i]; i++)
        if (*own[i])
            g_ptr_array_add(bases, g_strdup(own[i]));
    g_ptr_array_add(bases, g_build_filename(g_get_home_dir(), ".gtk-3.0", NULL));
    if (prefix)
        g_ptr_array_add(bases, g_build_filename(prefix, "lib", "gtk-3.0", NULL));
    else
        g_ptr_array_add(bases, g_build_filename(SA_GTK_LIBDIR, "gtk-3.0", NULL));

    for (guint i = 0; i < bases->len; i++) {
        char *path = find_in_base(g_ptr_array_index(bases, i));

        if (path)
            return path;
    }
    return NULL;
}
