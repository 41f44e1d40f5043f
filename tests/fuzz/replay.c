/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs a fuzz target without a fuzzer, in every build: replay-NAME FILE|DIRECTORY...
 * Each file goes in whole and cut off at every length: a seed is a small set of inputs. */
#include <glib.h>

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Longer files are cut off at some lengths only. */
#define EVERY_LENGTH 4096

static gboolean
replay_file(const char *path)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *contents = NULL;
    gsize len;

    if (!g_file_get_contents(path, &contents, &len, &error)) {
        g_printerr("%s\n", error->message);
        return FALSE;
    }
    for (gsize n = 0; n <= len; n += MAX(1, len / EVERY_LENGTH)) {
        /* of just this size: a checker sees a byte read too many */
        g_autofree uint8_t *copy = g_memdup2(contents, n);

        LLVMFuzzerTestOneInput(copy, n);
    }
    LLVMFuzzerTestOneInput((const uint8_t *)contents, len);
    return TRUE;
}

/* Files replayed, or -1. */
static int
replay(const char *path)
{
    g_autoptr(GDir) dir = NULL;
    const char *name;
    int files = 0;

    if (!g_file_test(path, G_FILE_TEST_IS_DIR))
        return replay_file(path) ? 1 : -1;
    dir = g_dir_open(path, 0, NULL);
    while (dir && (name = g_dir_read_name(dir))) {
        g_autofree char *file = g_build_filename(path, name, NULL);

        if (!replay_file(file))
            return -1;
        files++;
    }
    return files;
}

int
main(int argc, char **argv)
{
    int total = 0;

    for (int i = 1; i < argc; i++) {
        int files = replay(argv[i]);

        if (files < 0)
            return EXIT_FAILURE;
        total += files;
    }
    if (total == 0) {
        g_printerr("nothing to replay\n");
        return EXIT_FAILURE;
    }
    g_print("%d files replayed\n", total);
    return EXIT_SUCCESS;
}
