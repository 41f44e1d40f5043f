/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* Each case runs in a process of its own: what is hooked stays hooked. */
#include "client/hooks.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "client/intercept.h"

static const char *directory;

/* Stands before libc's for the whole test program: the n-th call fails. */
static int calls_until_failure, n_calls;

int
mprotect(void *address, size_t size, int protection)
{
    n_calls++;
    if (calls_until_failure > 0 && --calls_until_failure == 0) {
        errno = EACCES;
        return -1;
    }
    return (int)syscall(SYS_mprotect, address, size, protection);
}

typedef int (*Operation)(int a, int b);

static Operation original_add, original_mul, original_sub;
static guint n_add, n_mul;

static int
hook_add(int a, int b)
{
    n_add++;
    return original_add(a, b) + 1000;
}

static int
hook_mul(int a, int b)
{
    n_mul++;
    return original_mul(a, b) + 1000;
}

static int
hook_sub(int a, int b)
{
    return original_sub(a, b) + 1000;
}

static SaHook hooks[] = {
    {"hookee_real_add", (gpointer)hook_add, (gpointer *)&original_add},
    {"hookee_real_mul", (gpointer)hook_mul, (gpointer *)&original_mul},
    {"hookee_real_sub", (gpointer)hook_sub, (gpointer *)&original_sub},
};

static gpointer
load(const char *variant)
{
    g_autofree char *path = g_strdup_printf("%s/libhookee-%s.so", directory, variant);
    gpointer handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL);

    if (!handle)
        g_error("%s", dlerror());
    return handle;
}

static Operation
operation(gpointer handle, const char *name)
{
    Operation function;

    *(gpointer *)&function = dlsym(handle, name);
    g_assert_nonnull(function);
    return function;
}

/* Where the mapped files' pages are and how they are protected. */
static char *
protections(const char *library)
{
    g_autofree char *maps = NULL;
    g_auto(GStrv) lines = NULL;
    GString *kept = g_string_new(NULL);

    g_assert_true(g_file_get_contents("/proc/self/maps", &maps, NULL, NULL));
    lines = g_strsplit(maps, "\n", -1);
    for (guint i = 0; lines[i]; i++)
        if (strstr(lines[i], library))
            g_string_append_printf(kept, "%s\n", lines[i]);
    g_assert_cmpuint(kept->len, >, 0);
    return g_string_free(kept, FALSE);
}

/* Runs the test again in a child, and the body in there. */
static gboolean
in_child(void)
{
    if (g_test_subprocess())
        return TRUE;
    g_test_trap_subprocess(NULL, 60 * G_USEC_PER_SEC, G_TEST_SUBPROCESS_INHERIT_STDERR);
    g_test_trap_assert_passed();
    return FALSE;
}

static void
test_bind(gconstpointer data)
{
    const char *variant = data;
    g_autofree char *name = g_strdup_printf("libhookee-%s.so", variant);
    g_autofree char *before = NULL, *after = NULL;
    g_autoptr(GError) error = NULL;
    gpointer handle;
    Operation add, mul, own_add;

    if (!in_child())
        return;
    handle = load(variant);
    add = operation(handle, "hookee_add");
    mul = operation(handle, "hookee_mul");
    own_add = operation(handle, "hookee_real_add");
    g_assert_cmpint(mul(6, 7), ==, 42); /* one slot used before, one not */

    before = protections(name);
    n_calls = 0;
    g_assert_true(sa_hooks_bind(name, hooks, 2, &error));
    g_assert_no_error(error);
    if (g_str_equal(variant, "now") || g_str_equal(variant, "got"))
        g_assert_cmpint(n_calls, ==, 4); /* two read-only slots opened and closed */
    else if (g_str_equal(variant, "norelro"))
        g_assert_cmpint(n_calls, ==, 0);
    after = protections(name);
    g_assert_cmpstr(before, ==, after);

    for (guint i = 0; i < 2; i++) {
        g_assert_true(hooks[i].bound);
        g_assert_cmpstr(hooks[i].state, ==, "bound");
        g_assert_cmpuint(hooks[i].n_slots, ==, 1);
    }
    g_assert_true(original_add == own_add);
    /* Twice: a resolver called in between would put the function back into the slot. */
    for (int i = 1; i <= 2; i++) {
        g_assert_cmpint(add(2, 3), ==, 1005);
        g_assert_cmpint(mul(2, 3), ==, 1006);
        g_assert_cmpuint(n_add, ==, i);
        g_assert_cmpuint(n_mul, ==, i);
    }
    g_assert_cmpint(own_add(2, 3), ==, 5); /* other callers see nothing */

    /* Again: nothing is written, originals stay. */
    n_calls = 0;
    g_assert_true(sa_hooks_bind(name, hooks, 2, &error));
    g_assert_cmpint(n_calls, ==, 0);
    g_assert_true(original_add == own_add);
    g_assert_true(sa_hooks_probe(name, hooks, 2, &error));
    g_assert_cmpstr(hooks[0].state, ==, "bound");

    /* The library stays, so that "bound" stays true. */
    dlclose(handle);
    g_assert_nonnull(sa_hooks_library_path(name));
}

static void
test_probe(void)
{
    SaHook probes[] = {{"hookee_real_add"}, {"hookee_real_mul"}};
    g_autoptr(GError) error = NULL;
    gpointer handle;

    if (!in_child())
        return;
    handle = load("now");
    n_calls = 0;
    g_assert_true(sa_hooks_probe("libhookee-now.so", probes, 2, &error));
    g_assert_no_error(error);
    g_assert_cmpint(n_calls, ==, 0);
    for (guint i = 0; i < 2; i++) {
        g_assert_false(probes[i].bound);
        g_assert_cmpstr(probes[i].state, ==, "can be bound");
    }
    g_assert_cmpint(operation(handle, "hookee_add")(1, 1), ==, 2);
    g_assert_true(g_str_has_suffix(sa_hooks_library_path("libhookee-now.so"), "/libhookee-now.so"));
}

/* One import that is not there, or not as expected: nothing is hooked. */
static void
test_all_or_nothing(void)
{
    static int (*original)(int, int);
    SaHook missing[] = {hooks[0], {"hookee_no_such_import", (gpointer)hook_mul, NULL}};
    SaHook in_data[] = {hooks[0], hooks[2]};
    g_autoptr(GError) error = NULL;
    gpointer handle;
    Operation add;

    if (!in_child())
        return;
    handle = load("now");
    add = operation(handle, "hookee_add");
    missing[0].original = in_data[0].original = (gpointer *)&original;

    n_calls = 0;
    g_assert_false(sa_hooks_bind("libhookee-now.so", missing, 2, &error));
    g_assert_error(error, SA_HOOKS_ERROR, SA_HOOKS_ERROR_SYMBOL);
    g_assert_nonnull(strstr(error->message, "/libhookee-now.so: hookee_no_such_import: "));
    g_assert_cmpstr(missing[0].state, ==, "can be bound");
    g_assert_cmpstr(missing[1].state, ==, "not imported");
    g_assert_false(missing[0].bound || missing[1].bound);
    g_clear_error(&error);

    g_assert_false(sa_hooks_bind("libhookee-now.so", in_data, 2, &error));
    g_assert_error(error, SA_HOOKS_ERROR, SA_HOOKS_ERROR_SYMBOL);
    g_assert_nonnull(strstr(in_data[1].state, "data"));
    g_clear_error(&error);

    g_assert_cmpint(n_calls, ==, 0);
    g_assert_null(original);
    g_assert_cmpint(add(2, 3), ==, 5);
}

static void
test_not_loaded(void)
{
    SaHook hook = hooks[0];
    g_autoptr(GError) error = NULL;

    g_assert_null(sa_hooks_library_path("libhookee-nowhere.so"));
    g_assert_false(sa_hooks_bind("libhookee-nowhere.so", &hook, 1, &error));
    g_assert_error(error, SA_HOOKS_ERROR, SA_HOOKS_ERROR_NOT_LOADED);
    g_assert_nonnull(strstr(error->message, "libhookee-nowhere.so is not loaded"));
    g_assert_false(hook.bound);
    g_assert_nonnull(hook.state);
}

/* Which of two is meant cannot be known. */
static void
test_loaded_twice(void)
{
    SaHook hook = hooks[0];
    g_autoptr(GError) error = NULL;

    if (!in_child())
        return;
    load("now");
    load("norelro");
    g_assert_false(sa_hooks_bind("libhookee-no", &hook, 1, &error));
    g_assert_error(error, SA_HOOKS_ERROR, SA_HOOKS_ERROR_NOT_LOADED);
    g_assert_nonnull(strstr(error->message, "is loaded 2 times"));
}

/* Another copy of the hooks found the slots first: its hook must not become the original. */
static void
test_hooked_by_another(void)
{
    SaHook copy = hooks[0];
    g_autoptr(GError) error = NULL;
    Operation add;

    if (!in_child())
        return;
    add = operation(load("now"), "hookee_add");
    g_assert_true(sa_hooks_bind("libhookee-now.so", hooks, 1, &error));
    g_assert_false(sa_hooks_bind("libhookee-now.so", &copy, 1, &error));
    g_assert_error(error, SA_HOOKS_ERROR, SA_HOOKS_ERROR_SYMBOL);
    g_assert_cmpint(add(2, 3), ==, 1005);
}

/* The n-th change of a page's protection is refused: all slots are as they were. */
static void
test_half_way(gconstpointer data)
{
    const int nth = GPOINTER_TO_INT(data);
    g_autofree char *before = NULL, *after = NULL;
    g_autoptr(GError) error = NULL;
    gpointer handle;
    Operation add, mul;

    if (!in_child())
        return;
    handle = load("now");
    add = operation(handle, "hookee_add");
    mul = operation(handle, "hookee_mul");
    before = protections("libhookee-now.so");

    calls_until_failure = nth;
    g_assert_false(sa_hooks_bind("libhookee-now.so", hooks, 2, &error));
    g_assert_cmpint(calls_until_failure, ==, 0);
    g_assert_error(error, SA_HOOKS_ERROR, SA_HOOKS_ERROR_PROTECTION);
    g_assert_nonnull(strstr(error->message, hooks[(nth - 1) / 2].symbol));
    g_clear_error(&error);
    g_assert_false(hooks[0].bound || hooks[1].bound);
    g_assert_cmpint(add(2, 3), ==, 5);
    g_assert_cmpint(mul(2, 3), ==, 6);
    g_assert_cmpuint(n_add + n_mul, ==, 0);
    if (nth != 2) { /* then the page could not be closed again */
        after = protections("libhookee-now.so");
        g_assert_cmpstr(before, ==, after);
    }

    g_assert_true(sa_hooks_bind("libhookee-now.so", hooks, 2, &error));
    g_assert_cmpint(add(2, 3), ==, 1005);
    g_assert_cmpint(mul(2, 3), ==, 1006);
}

/* The real library: what the add-on hooks is what is checked for, and all of it is there. */
static void
test_spice(void)
{
    g_autoptr(GError) error = NULL;
    guint n = 0;

    while (sa_hooks_symbols[n])
        n++;
    g_assert_cmpuint(n, ==, sa_intercept_n_hooks);
    for (guint i = 0; i < n; i++)
        g_assert_true(g_strv_contains(sa_hooks_symbols, sa_intercept_hooks[i].symbol));
    if (!dlopen(SA_HOOKS_SONAME, RTLD_NOW | RTLD_LOCAL))
        g_error("%s", dlerror());
    g_assert_true(sa_hooks_probe(SA_HOOKS_LIBRARY, sa_intercept_hooks, n, &error));
    g_assert_no_error(error);
}

static void
test_version(void)
{
    static const struct {
        const char *version;
        gboolean known;
    } cases[] = {
        {"0.42", TRUE},
        {"spice-gtk 0.42", TRUE},
        {"0.41", FALSE},
        {"0.4", FALSE},
        {"0.42.1", FALSE},
        {"0.42-dirty", FALSE},
        {"spice-gtk", FALSE},
        {"spice-gtk 0.43", FALSE},
        {"", FALSE},
        {"spice-gtk 0.", FALSE},
        {"spice-gtk  0.42", FALSE},
        {NULL, FALSE},
        {"10.42", FALSE},
        {"spice-server 0.42", FALSE},
    };

    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_test_message("version %s", cases[i].version ? cases[i].version : "(null)");
        g_assert_cmpint(sa_hooks_version_known(cases[i].version), ==, cases[i].known);
    }
}

int
main(int argc, char **argv)
{
    static const char *const variants[] = {"now", "lazy", "norelro", "got", "got-lazy"};

    directory = g_getenv("HOOKEE_DIR");
    if (!directory)
        g_error("HOOKEE_DIR is not set; `meson test' sets it");
    g_test_init(&argc, &argv, NULL);
    for (guint i = 0; i < G_N_ELEMENTS(variants); i++) {
        g_autofree char *path = g_strdup_printf("/hooks/bind/%s", variants[i]);

        g_test_add_data_func(path, variants[i], test_bind);
    }
    g_test_add_func("/hooks/probe", test_probe);
    g_test_add_func("/hooks/all-or-nothing", test_all_or_nothing);
    g_test_add_func("/hooks/not-loaded", test_not_loaded);
    g_test_add_func("/hooks/loaded-twice", test_loaded_twice);
    g_test_add_func("/hooks/hooked-by-another", test_hooked_by_another);
    for (int i = 1; i <= 4; i++) {
        g_autofree char *path = g_strdup_printf("/hooks/half-way/%d", i);

        g_test_add_data_func(path, GINT_TO_POINTER(i), test_half_way);
    }
    g_test_add_func("/hooks/spice", test_spice);
    g_test_add_func("/hooks/version", test_version);
    return g_test_run();
}
