/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* One subcommand is one file and one row in main.c's table. */
#pragma once

#include <glib.h>

/* Exit codes, those of env(1) and a shell where a command is run. */
enum {
    SA_EXIT_OK = 0,
    SA_EXIT_FAILURE = 1,
    SA_EXIT_USAGE = 2,
    SA_EXIT_CANNOT_RUN = 126,
    SA_EXIT_NOT_FOUND = 127,
};

typedef struct SaCommand {
    const char *name;
    const char *summary; /* one line of the list of commands */
    const char *help;    /* the whole text of --help */
    /* argv[0] is "spice-accel NAME", as getopt_long() shall call itself. Returns the exit code. */
    int (*run)(const struct SaCommand *self, int argc, char **argv);
} SaCommand;

/* In every command's options, with sa_cli_help() behind it. */
#define SA_CLI_HELP_OPTION                                                                         \
    {                                                                                              \
        "help", no_argument, NULL, 'h'                                                             \
    }

extern const SaCommand sa_command_run;
extern const SaCommand sa_command_check;
extern const SaCommand sa_command_report;

/* Prints the command's help; returns SA_EXIT_OK. */
int sa_cli_help(const SaCommand *command);
/* Prints "spice-accel NAME: message" and where to read on; returns SA_EXIT_USAGE. */
int sa_cli_misuse(const SaCommand *command, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* Prints "spice-accel NAME: message"; returns exit_code. */
int
sa_cli_fail(const SaCommand *command, int exit_code, const char *format, ...) G_GNUC_PRINTF(3, 4);
