/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* spice-accel: the client half as a library.
 *
 * A program that shows SPICE sessions through spice-gtk calls spice_accel_attach() once, before it
 * connects a session; from then on every display connection of the process is watched. Programs
 * that are not built for it are attached by the GTK module or preload object that comes with this
 * library (see README.md). All functions are for the thread that runs spice-gtk, i.e. the one
 * that iterates the default main context.
 */
#ifndef SPICE_ACCEL_H
#define SPICE_ACCEL_H

#include <glib.h>

G_BEGIN_DECLS

#define SPICE_ACCEL_ERROR (spice_accel_error_quark())

/**
 * SpiceAccelError:
 * @SPICE_ACCEL_ERROR_UNSUPPORTED: this spice-gtk cannot be watched: its version is not known, or
 *   one of the imported functions is not where it is expected. Nothing was changed.
 * @SPICE_ACCEL_ERROR_DISABLED: the options say so.
 */
typedef enum {
    SPICE_ACCEL_ERROR_UNSUPPORTED,
    SPICE_ACCEL_ERROR_DISABLED,
} SpiceAccelError;

GQuark spice_accel_error_quark(void);

/**
 * spice_accel_version:
 *
 * Returns: the version of this library, a static string.
 */
const char *spice_accel_version(void);

/**
 * spice_accel_attach:
 * @options: (nullable): a comma-separated list as in the environment variable SPICE_ACCEL, or
 *   %NULL for the defaults
 * @error: return location
 *
 * Attaches to the spice-gtk of this process. A second call changes nothing and succeeds. Unknown
 * options are named on stderr and passed over.
 *
 * Returns: %TRUE when every connection made from now on is watched.
 */
gboolean spice_accel_attach(const char *options, GError **error);

/**
 * spice_accel_attach_from_environment:
 *
 * The same with the options in SPICE_ACCEL; a failure is one line on stderr. For the module.
 *
 * Returns: %TRUE when every connection made from now on is watched.
 */
gboolean spice_accel_attach_from_environment(void);

/**
 * SpiceAccelSnapshot:
 *
 * The figures of every watched display and cursor connection at one moment. Opaque.
 */
typedef struct SpiceAccelSnapshot SpiceAccelSnapshot;

/**
 * spice_accel_snapshot_new:
 * @since: (nullable): an earlier snapshot; figures "in the interval" then count from it, else from
 *   the connection's start
 *
 * Returns: (transfer full): free with spice_accel_snapshot_free().
 */
SpiceAccelSnapshot *spice_accel_snapshot_new(const SpiceAccelSnapshot *since);
void spice_accel_snapshot_free(SpiceAccelSnapshot *snapshot);

/**
 * spice_accel_snapshot_n_channels:
 *
 * Returns: how many connections the snapshot holds.
 */
guint spice_accel_snapshot_n_channels(const SpiceAccelSnapshot *snapshot);

/**
 * spice_accel_snapshot_number:
 * @channel: index below spice_accel_snapshot_n_channels()
 * @column: a name from spice_accel_columns()
 *
 * Returns: the figure, in the unit the column's name and README.md give; NAN when it is
 * absent, not a number, or there is no such column.
 */
double
spice_accel_snapshot_number(const SpiceAccelSnapshot *snapshot, guint channel, const char *column);

/**
 * spice_accel_snapshot_text:
 *
 * Returns: (nullable): the text of a column ("channel", "verdict"), owned by the snapshot.
 */
const char *
spice_accel_snapshot_text(const SpiceAccelSnapshot *snapshot, guint channel, const char *column);

/**
 * spice_accel_columns:
 *
 * Returns: (transfer none): %NULL-terminated names of all columns, those of the CSV log.
 */
const char *const *spice_accel_columns(void);

G_END_DECLS

#endif
