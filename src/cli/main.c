/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/cli.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "config.h"

static const SaCommand *const commands[] = {
    &sa_command_run,
    &sa_command_check,
    &sa_command_report,
};

static void
    G_GNUC_PRINTF(2, 0) complain(const SaCommand *command, const char *format, va_list arguments)
{
    fprintf(stderr, "spice-accel%s%s: ", command ? " " : "", command ? command->name : "");
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
}

int
sa_cli_misuse(const SaCommand *command, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    complain(command, format, arguments);
    va_end(arguments);
    fprintf(stderr, "See `spice-accel %s%s--help'.\n", command ? command->name : "",
            command ? " " : "");
    return SA_EXIT_USAGE;
}

int
sa_cli_fail(const SaCommand *command, int exit_code, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    complain(command, format, arguments);
    va_end(arguments);
    return exit_code;
}

int
sa_cli_help(const SaCommand *command)
{
    fputs(command->help, stdout);
    return SA_EXIT_OK;
}

static void
print_help(FILE *out)
{
    fputs("Usage: spice-accel COMMAND [ARGUMENTS]\n"
          "\n"
          "Makes a SPICE viewer feel faster, and shows what it waits for.\n"
          "\n"
          "Commands:\n",
          out);
    for (guint i = 0; i < G_N_ELEMENTS(commands); i++)
        fprintf(out, "  %-8s %s\n", commands[i]->name, commands[i]->summary);
    fputs("\n"
          "`spice-accel COMMAND --help' tells more about one of them.\n"
          "\n"
          "  -h, --help     show this text\n"
          "  --version      show the version\n",
          out);
}

static const SaCommand *
find_command(const char *name)
{
    for (guint i = 0; i < G_N_ELEMENTS(commands); i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

static int
run_command(const SaCommand *command, int argc, char **argv)
{
    g_autofree char *own_name = g_strdup_printf("spice-accel %s", command->name);

    argv[0] = own_name;
    return command->run(command, argc, argv);
}

static int
dispatch(int argc, char **argv)
{
    const SaCommand *command;

    if (argc < 2) {
        print_help(stderr);
        return SA_EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        print_help(stdout);
        return SA_EXIT_OK;
    }
    if (strcmp(argv[1], "--version") == 0) {
        puts("spice-accel " PACKAGE_VERSION);
        return SA_EXIT_OK;
    }
    if (argv[1][0] == '-')
        return sa_cli_misuse(NULL, "unknown option '%s'", argv[1]);
    command = find_command(argv[1]);
    if (!command)
        return sa_cli_misuse(NULL, "unknown command '%s'", argv[1]);
    return run_command(command, argc - 1, argv + 1);
}

int
main(int argc, char **argv)
{
    const int exit_code = dispatch(argc, argv);

    if (fflush(stdout) != 0 || ferror(stdout))
        return sa_cli_fail(NULL, SA_EXIT_FAILURE, "cannot write the output");
    return exit_code;
}
