/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* The original is taken from the slot only if the library is linked with BIND_NOW. Without it the
 * slot may still lead to the loader's resolver, which, once called, writes the function's address
 * over the hook; then the loader is asked for the function by name.
 *
 * Slots usually lie in pages the loader made read-only after relocation. A page's protection is
 * looked up, not guessed, and put back as it was.
 */
#include "client/hooks.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

G_DEFINE_QUARK(sa - hooks - error - quark, sa_hooks_error)

const char *const sa_hooks_symbols[] = {
    "g_socket_client_connect_finish",
    "g_pollable_input_stream_read_nonblocking",
    "g_pollable_input_stream_is_readable",
    "g_pollable_output_stream_write_nonblocking",
    "SSL_read",
    "SSL_write",
    NULL,
};

static const char *const known_versions[] = {"0.42"};

#define STATE_BOUND    "bound"
#define STATE_CAN      "can be bound"
#define STATE_MISSING  "not imported"
#define STATE_IN_DATA  "its address is also kept in the library's data"
#define STATE_UNFILLED "the loader has not filled the slot"
#define STATE_DIFFER   "its slots differ"
#define STATE_UNKNOWN  "no loaded library has it"
#define STATE_HOOKED   "the slot holds the hook already"
#define STATE_NOT_SEEN "not looked at"

typedef struct Library {
    const char *name; /* wanted: start of the file name */
    const char *path; /* the loader's, lives as long as the library */
    guint n_matches;
    guint64 base;
    const void *program_headers;
    guint n_program_headers;
} Library;

/* What will be written where. */
typedef struct Plan {
    gpointer original;
    int protection[SA_ELF_MAX_SLOTS];
} Plan;

static const SaElfMachine *
own_machine(void)
{
#if defined(__x86_64__) && defined(__LP64__)
    return sa_elf_machine(EM_X86_64, TRUE);
#elif defined(__aarch64__) && defined(__LP64__)
    return sa_elf_machine(EM_AARCH64, TRUE);
#elif defined(__i386__)
    return sa_elf_machine(EM_386, FALSE);
#elif defined(__arm__)
    return sa_elf_machine(EM_ARM, FALSE);
#else
    return NULL;
#endif
}

static int
match_object(struct dl_phdr_info *info, size_t size, void *data)
{
    Library *library = data;
    const char *slash = strrchr(info->dlpi_name, '/');

    if (!g_str_has_prefix(slash ? slash + 1 : info->dlpi_name, library->name))
        return 0;
    if (library->n_matches++ == 0) {
        library->path = info->dlpi_name;
        library->base = info->dlpi_addr;
        library->program_headers = info->dlpi_phdr;
        library->n_program_headers = info->dlpi_phnum;
    }
    return 0;
}

static gboolean
find_library(Library *library, GError **error)
{
    dl_iterate_phdr(match_object, library);
    if (library->n_matches == 1)
        return TRUE;
    if (library->n_matches == 0)
        g_set_error(error, SA_HOOKS_ERROR, SA_HOOKS_ERROR_NOT_LOADED, "%s is not loaded",
                    library->name);
    else
        g_set_error(error, SA_HOOKS_ERROR, SA_HOOKS_ERROR_NOT_LOADED,
                    "%s is loaded %u times, the first from %s", library->name, library->n_matches,
                    library->path);
    return FALSE;
}

const char *
sa_hooks_library_path(const char *library)
{
    Library found = {.name = library};

    dl_iterate_phdr(match_object, &found);
    return found.path;
}

static gboolean
find_slots(const Library *library, SaElf *elf, SaHook *hooks, guint n, GError **error)
{
    g_autofree SaElfImport *imports = g_new0(SaElfImport, n);
    const SaElfMachine *machine = own_machine();
    SaElfStatus status;

    if (!machine) {
        g_set_error(error, SA_HOOKS_ERROR, SA_HOOKS_ERROR_LAYOUT,
                    "import slots of this machine are not known");
        return FALSE;
    }
    for (guint i = 0; i < n; i++)
        imports[i].symbol = hooks[i].symbol;
    status = sa_elf_init(elf, machine, library->base, library->program_headers,
                         library->n_program_headers, NULL);
    if (status == SA_ELF_OK)
        status = sa_elf_find(elf, imports, n);
    if (status != SA_ELF_OK) {
        g_set_error(error, SA_HOOKS_ERROR, SA_HOOKS_ERROR_LAYOUT, "%s: %s", library->path,
                    sa_elf_status_text(status));
        return FALSE;
    }

    for (guint i = 0; i < n; i++) {
        hooks[i].n_slots = imports[i].n_slots;
        for (guint j = 0; j < imports[i].n_slots; j++)
            hooks[i].slots[j] = (gpointer *)(guintptr)imports[i].slots[j];
        if (imports[i].n_slots == 0)
            hooks[i].state = STATE_MISSING;
        else if (imports[i].in_data)
            hooks[i].state = STATE_IN_DATA;
        else
            hooks[i].state = STATE_CAN;
    }
    return TRUE;
}

/* What the library would call, or NULL with the state saying why not. */
static gpointer
find_original(const SaElf *elf, gpointer handle, SaHook *hook)
{
    gpointer original = *hook->slots[0];

    if (elf->bind_now) {
        for (guint j = 1; j < hook->n_slots; j++)
            if (*hook->slots[j] != original) {
                hook->state = STATE_DIFFER;
                return NULL;
            }
        /* An imported function does not lie in the importer: what does is a stub. */
        if (!original || sa_elf_contains(elf, (guintptr)original, 1)) {
            hook->state = STATE_UNFILLED;
            return NULL;
        }
    } else {
        /* The loader's own order: what is global comes before what the library brought along. */
        original = dlsym(RTLD_DEFAULT, hook->symbol);
        if (!original && handle)
            original = dlsym(handle, hook->symbol);
        if (!original) {
            hook->state = STATE_UNKNOWN;
            return NULL;
        }
    }
    for (guint j = 0; hook->hook && j < hook->n_slots; j++)
        if (original == hook->hook || *hook->slots[j] == hook->hook) {
            hook->state = STATE_HOOKED;
            return NULL;
        }
    return original;
}

/* Protection (PROT_*) of the page at an address, from the text of /proc/self/maps; -1: none. */
static int
protection_of(const char *maps, guintptr address)
{
    for (const char *line = maps; line && *line;) {
        const char *end = strchr(line, '\n');
        guintptr from, to;
        char flags[5];

        if (sscanf(line, "%" G_GINTPTR_MODIFIER "x-%" G_GINTPTR_MODIFIER "x %4s", &from, &to,
                   flags) == 3 &&
            from <= address && address < to)
            return (flags[0] == 'r' ? PROT_READ : 0) | (flags[1] == 'w' ? PROT_WRITE : 0) |
                   (flags[2] == 'x' ? PROT_EXEC : 0);
        line = end ? end + 1 : NULL;
    }
    return -1;
}

static gboolean
find_protections(const Library *library, const SaHook *hooks, Plan *plans, guint n, GError **error)
{
    g_autofree char *maps = NULL;
    g_autoptr(GError) failure = NULL;

    if (!g_file_get_contents("/proc/self/maps", &maps, NULL, &failure)) {
        g_set_error(error, SA_HOOKS_ERROR, SA_HOOKS_ERROR_PROTECTION, "%s", failure->message);
        return FALSE;
    }
    for (guint i = 0; i < n; i++)
        for (guint j = 0; j < hooks[i].n_slots; j++) {
            plans[i].protection[j] = protection_of(maps, (guintptr)hooks[i].slots[j]);
            /* The loader left the page readable: it was read from. */
            if (plans[i].protection[j] < 0) {
                g_set_error(error, SA_HOOKS_ERROR, SA_HOOKS_ERROR_PROTECTION,
                            "%s: no protection known for the slot of %s", library->path,
                            hooks[i].symbol);
                return FALSE;
            }
        }
    return TRUE;
}

/* Everything short of writing. handle: of the library, NULL when not needed. */
static gboolean
prepare(const char *name, SaHook *hooks, Plan *plans, guint n, Library *library, GError **error)
{
    SaElf elf;
    gpointer handle;
    guint failed = n;

    for (guint i = 0; i < n; i++) {
        hooks[i].n_slots = 0;
        hooks[i].state = STATE_NOT_SEEN;
    }
    library->name = name;
    if (!find_library(library, error) || !find_slots(library, &elf, hooks, n, error))
        return FALSE;

    handle = dlopen(library->path, RTLD_LAZY | RTLD_NOLOAD);
    for (guint i = 0; i < n; i++) {
        if (g_str_equal(hooks[i].state, STATE_CAN))
            plans[i].original = find_original(&elf, handle, &hooks[i]);
        if (!plans[i].original && failed == n)
            failed = i;
    }
    if (handle)
        dlclose(handle);
    if (failed < n) {
        g_set_error(error, SA_HOOKS_ERROR, SA_HOOKS_ERROR_SYMBOL, "%s: %s: %s", library->path,
                    hooks[failed].symbol, hooks[failed].state);
        return FALSE;
    }
    return find_protections(library, hooks, plans, n, error);
}

static gboolean
all_bound(const SaHook *hooks, guint n)
{
    for (guint i = 0; i < n; i++)
        if (!hooks[i].bound)
            return FALSE;
    return TRUE;
}

/* An aligned slot lies in one page. FALSE: errno says why, and the slot is as it was. */
static gboolean
write_slot(gpointer *slot, gpointer value, int protection)
{
    const gsize size = (gsize)sysconf(_SC_PAGESIZE);
    gpointer page = (gpointer)((guintptr)slot & ~(size - 1));
    gpointer before = *slot;
    const gboolean locked = !(protection & PROT_WRITE);

    if (locked && mprotect(page, size, protection | PROT_WRITE) != 0)
        return FALSE;
    __atomic_store_n(slot, value, __ATOMIC_RELEASE);
    if (locked && mprotect(page, size, protection) != 0) {
        const int reason = errno;

        __atomic_store_n(slot, before, __ATOMIC_RELEASE);
        errno = reason;
        return FALSE;
    }
    return TRUE;
}

/* Puts back what slots 0..j-1 of hook i and all of the hooks before it held. A call that is under
 * way in a hook still finds its original. */
static void
undo(SaHook *hooks, const Plan *plans, gpointer (*before)[SA_ELF_MAX_SLOTS], guint i, guint j)
{
    for (;;) {
        while (j > 0) {
            j--;
            write_slot(hooks[i].slots[j], before[i][j], plans[i].protection[j]);
        }
        if (i == 0)
            return;
        i--;
        j = hooks[i].n_slots;
    }
}

gboolean
sa_hooks_bind(const char *library, SaHook *hooks, guint n, GError **error)
{
    g_autofree Plan *plans = g_new0(Plan, n);
    g_autofree gpointer(*before)[SA_ELF_MAX_SLOTS] = g_malloc0_n(n, sizeof *before);
    Library found = {0};

    if (all_bound(hooks, n))
        return TRUE;
    if (!prepare(library, hooks, plans, n, &found, error))
        return FALSE;
    /* Loaded again later it would have fresh slots, and the hooks would say "bound". */
    dlopen(found.path, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);

    for (guint i = 0; i < n; i++) {
        if (hooks[i].original)
            __atomic_store_n(hooks[i].original, plans[i].original, __ATOMIC_RELEASE);
        for (guint j = 0; j < hooks[i].n_slots; j++) {
            before[i][j] = *hooks[i].slots[j];
            if (write_slot(hooks[i].slots[j], hooks[i].hook, plans[i].protection[j]))
                continue;
            g_set_error(error, SA_HOOKS_ERROR, SA_HOOKS_ERROR_PROTECTION,
                        "%s: cannot write the slot of %s: %s", found.path, hooks[i].symbol,
                        g_strerror(errno));
            undo(hooks, plans, before, i, j);
            return FALSE;
        }
    }
    for (guint i = 0; i < n; i++) {
        hooks[i].bound = TRUE;
        hooks[i].state = STATE_BOUND;
    }
    return TRUE;
}

gboolean
sa_hooks_probe(const char *library, SaHook *hooks, guint n, GError **error)
{
    g_autofree Plan *plans = g_new0(Plan, n);
    Library found = {0};

    return all_bound(hooks, n) || prepare(library, hooks, plans, n, &found, error);
}

gboolean
sa_hooks_version_known(const char *version)
{
    if (!version)
        return FALSE;
    if (g_str_has_prefix(version, "spice-gtk "))
        version += strlen("spice-gtk ");
    for (guint i = 0; i < G_N_ELEMENTS(known_versions); i++)
        if (g_str_equal(version, known_versions[i]))
            return TRUE;
    return FALSE;
}
