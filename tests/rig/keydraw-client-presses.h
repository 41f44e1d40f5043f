/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

/* Key presses one after the other: the next one goes out when the one before was drawn or given up,
 * at a mean interval with a uniform jitter of half of it either way, so that presses do not lock to
 * the guest's timer. The caller presses and tells what the key box shows. Main loop of the default
 * context. */

typedef struct SaPresses SaPresses;

typedef struct {
    guint count;
    gint interval_ms;
    gint timeout_ms;
    guint32 seed;
    /* Presses and releases the key; called with the time about to be noted. */
    void (*press)(gpointer data);
    /* After each press that was drawn or given up. */
    void (*finished)(gpointer data, guint number, gboolean drawn);
    /* After the last. */
    void (*done)(gpointer data);
    gpointer data;
} SaPressesConfig;

SaPresses *sa_presses_new(const SaPressesConfig *config);
void sa_presses_free(SaPresses *presses);

/* The key box shows @shown before the first press. The first press comes after a jittered interval.
 */
void sa_presses_start(SaPresses *presses, guint16 shown);

/* One press out of turn; FALSE while another one is under way. */
gboolean sa_presses_once(SaPresses *presses);

/* The key box shows @number now. */
void sa_presses_shown(SaPresses *presses, guint16 number, gint64 now);

/* Whether a press is waiting for its draw; then its number is what the box should show. */
gboolean sa_presses_waiting(const SaPresses *presses, guint16 *number);

/* No more presses. */
void sa_presses_stop(SaPresses *presses);

/* Appends the members "presses" ... "max_ms" of a JSON object, without braces. */
void sa_presses_json(const SaPresses *presses, GString *out);
