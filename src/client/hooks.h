/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* Hooks: functions put into the import slots of one loaded library.
 *
 * Only that library's own calls are redirected; the rest of the process keeps calling the real
 * functions. All or nothing: every slot is found and understood before the first is written, and
 * a failure half way puts back what was there. So after a failure the library is as it was.
 *
 * Call from one thread. The library may run in others meanwhile: a slot is written in one store,
 * after *original is set.
 */
#pragma once

#include <glib.h>

#include "client/elf.h"

/* spice-gtk without its user interface: the start of its file name. */
#define SA_HOOKS_LIBRARY "libspice-client-glib-2.0.so"
/* The name the loader knows it by. */
#define SA_HOOKS_SONAME SA_HOOKS_LIBRARY ".8"

/* The imports of it that carry a connection's bytes, NULL-terminated. */
extern const char *const sa_hooks_symbols[];

typedef struct SaHook {
    const char *symbol;
    gpointer hook;
    gpointer *original; /* set before the slot is; what the hook calls on. NULL: not wanted */
    /* Filled by sa_hooks_bind() and sa_hooks_probe(): */
    gpointer *slots[SA_ELF_MAX_SLOTS];
    guint n_slots;
    const char *state; /* static text: "bound", "can be bound" or why not */
    gboolean bound;
} SaHook;

#define SA_HOOKS_ERROR (sa_hooks_error_quark())
GQuark sa_hooks_error_quark(void);

typedef enum SaHooksError {
    SA_HOOKS_ERROR_NOT_LOADED, /* no such library in this process, or two */
    SA_HOOKS_ERROR_LAYOUT,     /* its ELF image or this machine is not understood */
    SA_HOOKS_ERROR_SYMBOL,     /* an import is missing or not as expected; see the states */
    SA_HOOKS_ERROR_PROTECTION, /* a page's protection could not be read or changed */
} SaHooksError;

/* Binds the n hooks in the loaded object whose file name starts with library, and keeps that
 * object loaded for good. TRUE also when they are bound already. */
gboolean sa_hooks_bind(const char *library, SaHook *hooks, guint n, GError **error);

/* The same without writing anything: hook and original may be NULL. */
gboolean sa_hooks_probe(const char *library, SaHook *hooks, guint n, GError **error);

/* Path of that object as the loader has it; valid while it stays loaded. NULL: not loaded. */
const char *sa_hooks_library_path(const char *library);

/* Is this a spice-gtk whose behaviour the add-on was checked against? Takes "0.42" or
 * "spice-gtk 0.42". */
gboolean sa_hooks_version_known(const char *version);
