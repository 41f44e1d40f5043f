/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* What stands in for the six functions that libspice-client-glib imports for its connections, and
 * the tap of each stream.
 *
 * Every call goes to the original with the viewer's own arguments, and its result and error go
 * back unchanged; the tap is told in between. A plain connection is known by its streams, a TLS
 * one by its SSL object (both may be reused at the same address, so the tap hangs on the object
 * itself and goes with it). TLS calls the stream functions too, with ciphertext: those calls only
 * tell which socket is below which SSL object.
 */
#pragma once

#include <gio/gio.h>

#include "client/hooks.h"
#include "client/tap.h"

/* The six hooks, for sa_hooks_bind() and sa_hooks_probe(). */
extern SaHook sa_intercept_hooks[];
extern const guint sa_intercept_n_hooks;

/* The tap of the connection on this socket; NULL when there is none. Borrowed. */
SaTap *sa_intercept_tap(GSocket *socket);
