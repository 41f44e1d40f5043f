/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* What would happen in a viewer, seen from a process of its own: the same libraries are loaded,
 * nothing is written. */
#include "cli/cli.h"
#include "cli/modulepath.h"

#include <dlfcn.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "client/hooks.h"
#include "plugin/client-library.h"

#define LINE "%-15s "

/* The part that paints fresh draws at once where GTK 3 is, seen from the module's directory:
 * installed in LIBDIR/gtk-3.0/modules, and in a build tree. */
static const char *const paint_places[] = {
    "../../spice-accel/libspice-accel-gtk3.so",
    "gtk3/libspice-accel-gtk3.so",
};

static gboolean
check_version(gpointer handle)
{
    const char *(*get_version)(void) = NULL;
    const char *version;
    gboolean known;

    *(gpointer *)&get_version = dlsym(handle, "spice_util_get_version_string");
    if (!get_version) {
        printf(LINE "unknown: it has no spice_util_get_version_string\n", "version");
        return FALSE;
    }
    version = get_version();
    known = sa_hooks_version_known(version);
    printf(LINE "%s%s\n", "version", version,
           known ? "" : ": the add-on was not checked against this version and stays off");
    return known;
}

static gboolean
check_imports(void)
{
    g_autofree SaHook *hooks = NULL;
    g_autoptr(GError) error = NULL;
    guint n = 0;
    gboolean fits;

    while (sa_hooks_symbols[n])
        n++;
    hooks = g_new0(SaHook, n);
    for (guint i = 0; i < n; i++)
        hooks[i].symbol = sa_hooks_symbols[i];
    fits = sa_hooks_probe(SA_HOOKS_LIBRARY, hooks, n, &error);
    for (guint i = 0; i < n; i++)
        printf(LINE "%s: %s\n", i == 0 ? "imports" : "", hooks[i].symbol, hooks[i].state);
    if (!fits)
        printf(LINE "%s\n", "", error->message);
    return fits;
}

static gboolean
check_spice(void)
{
    gpointer handle = dlopen(SA_HOOKS_SONAME, RTLD_NOW | RTLD_LOCAL);
    const char *path;
    gboolean fits;

    if (!handle) {
        printf(LINE "cannot be loaded: %s\n", "spice-gtk", dlerror());
        return FALSE;
    }
    path = sa_hooks_library_path(SA_HOOKS_LIBRARY);
    printf(LINE "%s\n", "spice-gtk", path ? path : SA_HOOKS_SONAME);
    fits = check_version(handle);
    /* The imports are shown whatever the version is. */
    return check_imports() && fits;
}

static gboolean
check_client_library(const char *module)
{
    g_autofree char *path = sa_module_client_library(module);
    gpointer handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    if (!handle) {
        printf(LINE "cannot be loaded: %s\n", "client library", dlerror());
        return FALSE;
    }
    if (!dlsym(handle, SA_CLIENT_ATTACH)) {
        printf(LINE "%s has no %s\n", "client library", path, SA_CLIENT_ATTACH);
        return FALSE;
    }
    printf(LINE "%s\n", "client library", path);
    return TRUE;
}

/* The rest does without it. */
static void
show_paint_library(const char *module)
{
    g_autofree char *directory = g_path_get_dirname(module);

    for (guint i = 0; i < G_N_ELEMENTS(paint_places); i++) {
        g_autofree char *path = g_canonicalize_filename(paint_places[i], directory);

        if (g_file_test(path, G_FILE_TEST_EXISTS)) {
            printf(LINE "%s\n", "painting", path);
            return;
        }
    }
    printf(LINE "not found\n", "painting");
}

static gboolean
check_module(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *module = sa_module_path(&error);
    g_autofree char *by_name = sa_module_gtk_finds();
    gboolean fits = FALSE;

    if (module) {
        printf(LINE "%s\n", "module", module);
        fits = check_client_library(module);
        show_paint_library(module);
    } else {
        printf(LINE "%s\n", "module", error->message);
    }
    if (by_name)
        printf(LINE "GTK_MODULES=spice-accel finds %s\n", "GTK", by_name);
    else
        printf(LINE "GTK_MODULES=spice-accel finds nothing; `spice-accel run' uses the path\n",
               "GTK");
    return fits;
}

static gboolean
check_environment(void)
{
    const gboolean off = g_strcmp0(g_getenv("SPICE_ACCEL"), "0") == 0;

    if (off)
        printf(LINE "SPICE_ACCEL=0 switches the add-on off\n", "environment");
    return !off;
}

static int
run(const SaCommand *self, int argc, char **argv)
{
    static const struct option long_options[] = {SA_CLI_HELP_OPTION, {NULL, 0, NULL, 0}};
    gboolean fits;
    int option;

    option = getopt_long(argc, argv, "h", long_options, NULL);
    if (option != -1)
        return option == 'h' ? sa_cli_help(self) : SA_EXIT_USAGE;
    if (optind < argc)
        return sa_cli_misuse(self, "unexpected argument '%s'", argv[optind]);

    fits = check_spice();
    fits = check_module() && fits;
    fits = check_environment() && fits;
    printf(LINE "%s\n", "result",
           fits ? "everything would be hooked"
                : "nothing would be hooked: the viewer would run as without the add-on");
    return fits ? SA_EXIT_OK : SA_EXIT_FAILURE;
}

const SaCommand sa_command_check = {
    .name = "check",
    .summary = "show what would be hooked here, and why not",
    .help =
        "Usage: spice-accel check\n"
        "\n"
        "Loads spice-gtk as a viewer would and shows its path and version, whether each import\n"
        "the add-on needs can be bound, where the module, its library and the part that paints\n"
        "at once under GTK 3 are, and whether GTK finds the module by its name. Says so when\n"
        "SPICE_ACCEL=0 in the environment switches the add-on off. Changes nothing.\n"
        "\n"
        "  -h, --help  show this text\n"
        "\n"
        "Exit code: 0 when everything would be hooked, 1 when not, also because SPICE_ACCEL=0\n"
        "switches the add-on off, 2 when the command line is not understood. The part that\n"
        "paints at once does not count: everything else works without it.\n",
    .run = run,
};
