/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the module and the command that looks for it agree on. Needs nothing but libc. */
#pragma once

#define SA_CLIENT_LIBRARY "libspice-accel-client.so.0"
/* Its entry: takes nothing, returns 0 when the add-on is not active and has said why itself. */
#define SA_CLIENT_ATTACH "spice_accel_attach_from_environment"

/* Where the client library may lie, seen from the module's directory: installed in
 * LIBDIR/gtk-3.0/modules, and in a build tree. The first that is there counts; if none is, the
 * loader is asked for the bare name. */
static const char *const sa_client_places[] = {
    "../../" SA_CLIENT_LIBRARY,
    "../src/client/" SA_CLIENT_LIBRARY,
};
