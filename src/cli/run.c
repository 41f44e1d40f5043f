/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sets the variables and becomes the viewer. Both ways in are set, GTK_MODULES and LD_PRELOAD:
 * which one a program takes is not known before it runs, and the module acts once. */
#include "cli/cli.h"
#include "cli/modulepath.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The loader splits LD_PRELOAD at both and knows no way to quote them; a '$' may start one of its
 * own tokens. */
#define PRELOAD_SEPARATORS ": "
#define PRELOAD_UNSAFE     ": $"

static const struct {
    const char *command, *package;
} packages[] = {
    {"remote-viewer", "virt-viewer"},    {"virt-viewer", "virt-viewer"},
    {"spicy", "spice-client-gtk"},       {"spicy-screenshot", "spice-client-gtk"},
    {"spicy-stats", "spice-client-gtk"}, {"virt-manager", "virt-manager"},
};

/* The list with the entry at its end, unless it is in there; g_free(). */
static char *
with_entry(const char *list, const char *separators, const char *entry)
{
    g_auto(GStrv) entries = NULL;

    if (!list || !*list)
        return g_strdup(entry);
    entries = g_strsplit_set(list, separators, -1);
    if (g_strv_contains((const char *const *)entries, entry))
        return g_strdup(list);
    return g_strconcat(list, ":", entry, NULL);
}

static void
add_to_variable(const char *variable, const char *separators, const char *entry)
{
    g_autofree char *value = with_entry(g_getenv(variable), separators, entry);

    g_setenv(variable, value, TRUE);
}

static void
add_options(const SaCommand *self, char **options)
{
    const char *before = g_getenv("SPICE_ACCEL");
    g_autofree char *own = options ? g_strjoinv(",", options) : NULL;
    g_autofree char *value = NULL;

    if (!own || !*own)
        return;
    if (g_strcmp0(before, "0") == 0) {
        sa_cli_fail(self, 0, "SPICE_ACCEL=0 switches everything off: -o %s does nothing", own);
        return;
    }
    value = before && *before ? g_strconcat(before, ",", own, NULL) : g_strdup(own);
    g_setenv("SPICE_ACCEL", value, TRUE);
}

static gboolean
exists(const char *command)
{
    g_autofree char *path = NULL;

    if (strchr(command, '/'))
        return access(command, F_OK) == 0;
    path = g_find_program_in_path(command);
    return path != NULL;
}

/* Why execvp() came back. */
static int
explain(const SaCommand *self, const char *command, int reason)
{
    g_autofree char *name = g_path_get_basename(command);

    if (reason != ENOENT || exists(command))
        return sa_cli_fail(self, SA_EXIT_CANNOT_RUN, "cannot run %s: %s", command,
                           g_strerror(reason));
    for (guint i = 0; i < G_N_ELEMENTS(packages); i++)
        if (strcmp(packages[i].command, name) == 0)
            return sa_cli_fail(self, SA_EXIT_NOT_FOUND,
                               "%s: command not found; Debian has it in the package %s", command,
                               packages[i].package);
    return sa_cli_fail(self, SA_EXIT_NOT_FOUND, "%s: command not found", command);
}

static int
run(const SaCommand *self, int argc, char **argv)
{
    static const struct option long_options[] = {
        {"options", required_argument, NULL, 'o'},
        {"preload", no_argument, NULL, 'p'},
        SA_CLI_HELP_OPTION,
        {NULL, 0, NULL, 0},
    };
    g_autoptr(GStrvBuilder) builder = g_strv_builder_new();
    g_auto(GStrv) options = NULL;
    g_autofree char *module = NULL;
    g_autoptr(GError) error = NULL;
    gboolean preload = FALSE;
    int option;

    /* '+': what follows the viewer's name is the viewer's. */
    while ((option = getopt_long(argc, argv, "+ho:", long_options, NULL)) != -1)
        switch (option) {
        case 'o':
            g_strv_builder_add(builder, optarg);
            break;
        case 'p':
            preload = TRUE;
            break;
        case 'h':
            return sa_cli_help(self);
        default:
            return SA_EXIT_USAGE;
        }
    if (optind == argc)
        return sa_cli_misuse(self, "no command to run");

    module = sa_module_path(&error);
    if (!module)
        return sa_cli_fail(self, SA_EXIT_FAILURE, "%s", error->message);
    if (strchr(module, ':'))
        return sa_cli_fail(self, SA_EXIT_FAILURE, "%s: GTK_MODULES cannot hold a path with a colon",
                           module);
    if (strpbrk(module, PRELOAD_UNSAFE)) {
        if (preload)
            return sa_cli_fail(self, SA_EXIT_FAILURE,
                               "%s: LD_PRELOAD cannot hold a path with a space, a colon or a "
                               "dollar sign",
                               module);
        g_printerr("spice-accel run: %s: LD_PRELOAD cannot hold this path; only GTK programs get "
                   "the add-on\n",
                   module);
    } else {
        add_to_variable("LD_PRELOAD", PRELOAD_SEPARATORS, module);
    }
    add_to_variable("GTK_MODULES", ":", module);
    options = g_strv_builder_end(builder);
    add_options(self, options);

    execvp(argv[optind], argv + optind);
    return explain(self, argv[optind], errno);
}

const SaCommand sa_command_run = {
    .name = "run",
    .summary = "run a viewer with the add-on",
    .help = "Usage: spice-accel run [OPTIONS] [--] VIEWER [ARGUMENTS]\n"
            "\n"
            "Runs a viewer with the add-on in it, by adding the module to GTK_MODULES and\n"
            "LD_PRELOAD. What these hold already is kept.\n"
            "\n"
            "  -o, --options OPTIONS  add to the add-on's options, as in SPICE_ACCEL\n"
            "  --preload              fail if LD_PRELOAD cannot name the module (its path has a\n"
            "                         space), instead of relying on GTK_MODULES alone\n"
            "  -h, --help             show this text\n"
            "\n"
            "Exit code: the viewer's; 1 when the module is not there, 2 when the command line is\n"
            "not understood, 126 when the viewer cannot be run, 127 when it is not found.\n"
            "\n"
            "Example: spice-accel run remote-viewer spice://host:5900\n",
    .run = run,
};
