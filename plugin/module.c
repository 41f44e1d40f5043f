/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* The way into a viewer that does not know the add-on: a module that needs nothing but libc and
 * loads the client library where it makes sense.
 *
 * As a GTK module (GTK_MODULES) it loads it at once: virt-manager brings in spice-gtk only when a
 * console is opened, and by then nobody would call here again. Under LD_PRELOAD it is also loaded
 * into every other program that the viewer or a shell starts, so there it acts only where
 * spice-gtk is mapped already, and else costs one walk over the loaded objects. It need not know
 * which of the two it is: loading twice is a no-op.
 *
 * The client library runs in the viewer for good, its functions are in import slots, so neither
 * it nor this module (linked with -z nodelete) is ever unloaded.
 */
#include "client-library.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY "libspice-client-glib-2.0.so"

#define EXPORT __attribute__((visibility("default")))

EXPORT void gtk_module_init(int *argc, char ***argv);

static int
find_spice(struct dl_phdr_info *info, size_t size, void *data)
{
    const char *slash = strrchr(info->dlpi_name, '/');

    (void)size;
    (void)data;
    return strncmp(slash ? slash + 1 : info->dlpi_name, LIBRARY, strlen(LIBRARY)) == 0;
}

/* Length of the directory part of this module's path, its slash included; 0 when unknown. */
static size_t
own_directory(const char **path)
{
    Dl_info info;
    const char *slash;

    if (!dladdr((void *)find_spice, &info) || !info.dli_fname)
        return 0;
    *path = info.dli_fname;
    slash = strrchr(info.dli_fname, '/');
    return slash ? (size_t)(slash - info.dli_fname) + 1 : 0;
}

/* RTLD_NOW: an unusable library shows here, in one line, and not in the middle of a session.
 * RTLD_LOCAL: spice-gtk's dozens of dependencies must not become visible to plugins of a program
 * that may have nothing to do with SPICE; the client library finds its own regardless. */
static void *
open_client(char *reason, size_t size)
{
    const int flags = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE;
    const char *self = NULL;
    const size_t length = own_directory(&self);
    void *handle;

    for (size_t i = 0; length > 0 && i < sizeof sa_client_places / sizeof *sa_client_places; i++) {
        char path[PATH_MAX];
        const int n = snprintf(path, sizeof path, "%.*s%s", (int)length, self, sa_client_places[i]);

        if (n < 0 || (size_t)n >= sizeof path || access(path, F_OK) != 0)
            continue;
        handle = dlopen(path, flags);
        if (!handle)
            snprintf(reason, size, "%s", dlerror());
        return handle;
    }
    handle = dlopen(SA_CLIENT_LIBRARY, flags);
    if (!handle)
        snprintf(reason, size, "%s", dlerror());
    return handle;
}

static void
load_client(void)
{
    static int loaded;
    char reason[1024] = "";
    void *handle;
    int (*attach)(void) = NULL;

    if (__atomic_exchange_n(&loaded, 1, __ATOMIC_ACQ_REL))
        return;
    handle = open_client(reason, sizeof reason);
    if (handle) {
        /* ISO C has no conversion from void * to a function. */
        *(void **)&attach = dlsym(handle, SA_CLIENT_ATTACH);
        if (!attach)
            snprintf(reason, sizeof reason, "it has no %s", SA_CLIENT_ATTACH);
    }
    if (attach)
        attach();
    else
        fprintf(stderr, "spice-accel: cannot load %s: %s\n", SA_CLIENT_LIBRARY, reason);
}

static int
switched_off(void)
{
    const char *options = getenv("SPICE_ACCEL");

    return options && strcmp(options, "0") == 0;
}

/* Called by GTK 3 after its own start, also where there is no display. */
void
gtk_module_init(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    if (!switched_off())
        load_client();
}

/* Under LD_PRELOAD this runs before the constructors of the program's libraries. The loader runs
 * those of the client library's dependencies, spice-gtk's among them, within dlopen(). */
__attribute__((constructor)) static void
start(void)
{
    if (!switched_off() && dl_iterate_phdr(find_spice, NULL))
        load_client();
}
