/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* Times how long spice-gtk handles each display and cursor message, by wrapping
 * SpiceChannelClass.handle_msg of the two classes (a member of the installed header). */
#pragma once

#include <glib.h>

/* Wraps; a second call changes nothing. */
void sa_handle_install(void);
