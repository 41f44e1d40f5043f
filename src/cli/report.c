/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/cli.h"
#include "cli/logtable.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "core/stats.h"

/* A file that is no log at all has a fault on every line. */
#define MAX_FAULTS 20

/* Numbers that tell rows apart: their percentiles mean nothing. */
static const char *const not_shown[] = {"time_s", "pid", "session", "generation", "tls", NULL};

typedef struct Figures {
    guint n;
    double p50, p95, max;
} Figures;

/* Sorts the values. */
static Figures
figures_of(GArray *values)
{
    double *data = (double *)(gpointer)values->data;

    return (Figures){
        .n = values->len,
        .p50 = sa_percentile(data, values->len, 50),
        .p95 = sa_percentile(data, values->len, 95),
        .max = sa_percentile(data, values->len, 100),
    };
}

static gboolean
has_figures(const SaLogTable *table, const SaLogChannel *channel, guint column)
{
    return table->numeric[column] && channel->values[column]->len > 0;
}

static void
print_faults(const SaLogTable *table, const char *name)
{
    const guint n = table->faults->len;

    for (guint i = 0; i < MIN(n, MAX_FAULTS); i++) {
        const SaLogFault *fault = &g_array_index(table->faults, SaLogFault, i);

        fprintf(stderr, "%s:%" G_GUINT64_FORMAT ": %s\n", name, fault->line, fault->text);
    }
    if (n > MAX_FAULTS)
        fprintf(stderr, "%s: %u more like these\n", name, n - MAX_FAULTS);
}

/* Enough digits to tell times of day and byte counts apart, none that mean nothing. */
static void
print_figure(double value)
{
    g_autofree char *text = g_strdup_printf("%.3f", value);
    char *end = text + strlen(text);

    while (end[-1] == '0')
        *--end = '\0';
    if (end[-1] == '.')
        *--end = '\0';
    printf(" %14s", text);
}

/* What a channel is called: its viewer and session are named where the log has several of them,
 * so that no two channels are called alike. */
static char *
title_of(const SaLogTable *table, const SaLogChannel *channel)
{
    GString *title = g_string_new(channel->name);

    if (table->several_pids && channel->pid)
        g_string_append_printf(title, ", pid %s", channel->pid);
    if (table->several_sessions && channel->session)
        g_string_append_printf(title, ", session %s", channel->session);
    return g_string_free(title, FALSE);
}

static void
print_text(const SaLogTable *table, gboolean all)
{
    for (guint i = 0; i < table->channels->len; i++) {
        const SaLogChannel *channel = g_ptr_array_index(table->channels, i);
        g_autofree char *title = title_of(table, channel);
        g_autofree char *shown = g_strescape(title, NULL);

        printf("%s%s, %u row%s\n", i ? "\n" : "", shown, channel->rows,
               channel->rows == 1 ? "" : "s");
        printf("  %-17s %8s %14s %14s %14s\n", "column", "values", "p50", "p95", "max");
        for (guint j = 0; j < table->n_columns; j++) {
            Figures figures;

            if (!has_figures(table, channel, j) ||
                (!all && g_strv_contains(not_shown, table->columns[j])))
                continue;
            figures = figures_of(channel->values[j]);
            printf("  %-17s %8u", table->columns[j], figures.n);
            print_figure(figures.p50);
            print_figure(figures.p95);
            print_figure(figures.max);
            putchar('\n');
        }
    }
}

static void
print_json_string(const char *text)
{
    g_autofree char *valid = g_utf8_make_valid(text, -1);

    putchar('"');
    for (const char *p = valid; *p; p++) {
        if (*p == '"' || *p == '\\')
            printf("\\%c", *p);
        else if ((guchar)*p < 0x20)
            printf("\\u%04x", (guint)*p);
        else
            putchar(*p);
    }
    putchar('"');
}

/* A number where it is one. */
static void
print_json_id(const char *key, const char *value)
{
    guint64 number;

    if (!value)
        return;
    printf(", \"%s\": ", key);
    if (g_ascii_string_to_unsigned(value, 10, 0, G_MAXINT64, &number, NULL))
        printf("%" G_GUINT64_FORMAT, number);
    else
        print_json_string(value);
}

static void
print_json(const SaLogTable *table, const char *name)
{
    printf("{\"file\": ");
    print_json_string(name);
    printf(", \"faults\": %u, \"channels\": {", table->faults->len);
    for (guint i = 0; i < table->channels->len; i++) {
        const SaLogChannel *channel = g_ptr_array_index(table->channels, i);
        g_autofree char *title = title_of(table, channel);
        const char *separator = "";

        printf("%s\n  ", i ? "," : "");
        print_json_string(title);
        printf(": {\"channel\": ");
        print_json_string(channel->name);
        print_json_id("pid", channel->pid);
        print_json_id("session", channel->session);
        printf(", \"rows\": %u, \"columns\": {", channel->rows);
        for (guint j = 0; j < table->n_columns; j++) {
            Figures figures;

            if (!has_figures(table, channel, j))
                continue;
            figures = figures_of(channel->values[j]);
            printf("%s\n    ", separator);
            print_json_string(table->columns[j]);
            printf(": {\"values\": %u, \"p50\": %.15g, \"p95\": %.15g, \"max\": %.15g}", figures.n,
                   figures.p50, figures.p95, figures.max);
            separator = ",";
        }
        printf("}}");
    }
    printf("\n}}\n");
}

static gboolean
usable(const SaLogTable *table)
{
    for (guint i = 0; i < table->channels->len; i++)
        for (guint j = 0; j < table->n_columns; j++)
            if (has_figures(table, g_ptr_array_index(table->channels, i), j))
                return TRUE;
    return FALSE;
}

static int
report(const SaCommand *self, FILE *file, const char *name, gboolean json, gboolean all)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(SaLogTable) table = sa_log_table_read(file, &error);

    if (!table)
        return sa_cli_fail(self, SA_EXIT_FAILURE, "%s: %s", name, error->message);
    print_faults(table, name);
    if (!usable(table))
        return sa_cli_fail(self, SA_EXIT_FAILURE, "%s: no usable row", name);
    if (json)
        print_json(table, name);
    else
        print_text(table, all);
    return SA_EXIT_OK;
}

static int
run(const SaCommand *self, int argc, char **argv)
{
    static const struct option long_options[] = {
        {"all", no_argument, NULL, 'a'},
        {"json", no_argument, NULL, 'j'},
        SA_CLI_HELP_OPTION,
        {NULL, 0, NULL, 0},
    };
    gboolean all = FALSE, json = FALSE;
    const char *name;
    int option, exit_code;
    FILE *file;

    while ((option = getopt_long(argc, argv, "h", long_options, NULL)) != -1)
        switch (option) {
        case 'a':
            all = TRUE;
            break;
        case 'j':
            json = TRUE;
            break;
        case 'h':
            return sa_cli_help(self);
        default:
            return SA_EXIT_USAGE;
        }
    if (optind == argc)
        return sa_cli_misuse(self, "no FILE");
    if (optind + 1 < argc)
        return sa_cli_misuse(self, "unexpected argument '%s'", argv[optind + 1]);

    name = argv[optind];
    if (strcmp(name, "-") == 0)
        return report(self, stdin, "standard input", json, all);
    file = fopen(name, "re");
    if (!file)
        return sa_cli_fail(self, SA_EXIT_FAILURE, "%s: %s", name, g_strerror(errno));
    exit_code = report(self, file, name, json, all);
    fclose(file);
    return exit_code;
}

const SaCommand sa_command_report = {
    .name = "report",
    .summary = "percentiles of a log",
    .help =
        "Usage: spice-accel report [--all | --json] FILE\n"
        "\n"
        "Reads a log written with SPICE_ACCEL=log=FILE and prints, for every channel, the 50th\n"
        "and 95th percentile and the highest value of every column of numbers. FILE may be -\n"
        "for standard input. Empty values are absent and count nowhere. Lines that cannot be\n"
        "used are named on standard error as FILE:LINE: what; a last line without a line end\n"
        "is still being written and is left out.\n"
        "\n"
        "Several viewers may have written to one log: rows belong together when channel, pid\n"
        "and session are the same. A heading names pid and session where the log has more than\n"
        "one. The columns time_s, pid, session, generation and tls tell rows apart and are in\n"
        "the table only with --all.\n"
        "\n"
        "      --all   print every column\n"
        "      --json  print JSON: all columns, and channel, pid and session of each heading\n"
        "  -h, --help  show this text\n"
        "\n"
        "Exit code: 0, 1 when nothing in the file can be used, 2 when the command line is not\n"
        "understood.\n",
    .run = run,
};
