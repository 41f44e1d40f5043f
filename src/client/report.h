/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* The CSV log: a header line, then a row a second and open channel, and a last row when a channel
 * closes, so that the rows of a channel add up to all that passed.
 *
 * Rows are appended, each with one write: several viewers may share a file. A file that is no log,
 * or one with other columns, is left alone. The file is opened when
 * the first channel opens, so a program that shows no session touches nothing. When it cannot be
 * opened or written there is one warning, and the session goes on without a log. The timer exists
 * only while a channel is open and a log was asked for. A viewer that exits leaves its last rows;
 * one that is killed leaves the rows up to its last second.
 */
#pragma once

#include <glib.h>

/* Once; file: name as the user gave it. */
void sa_report_start(const char *file);
