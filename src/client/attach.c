/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include <spice-client.h>
#include <stdio.h>

#include "client/channel.h"
#include "client/export.h"
#include "client/gtk3.h"
#include "client/handle.h"
#include "client/intercept.h"
#include "client/options.h"
#include "client/report.h"
#include "client/spice-accel.h"
#include "client/warn.h"
#include "config.h"

SA_EXPORT
G_DEFINE_QUARK(spice - accel - error - quark, spice_accel_error)

SA_EXPORT const char *
spice_accel_version(void)
{
    return PACKAGE_VERSION;
}

static void
warn_option(const char *text, gpointer data)
{
    sa_warn("%s", text);
}

static gboolean
attach(const SaOptions *options, GError **error)
{
    const char *version = spice_util_get_version_string();
    g_autoptr(GError) cause = NULL;

    if (!sa_hooks_version_known(version)) {
        g_set_error(error, SPICE_ACCEL_ERROR, SPICE_ACCEL_ERROR_UNSUPPORTED,
                    "this version of spice-gtk is not known: %s", version);
        return FALSE;
    }
    if (!sa_hooks_bind(SA_HOOKS_LIBRARY, sa_intercept_hooks, sa_intercept_n_hooks, &cause)) {
        g_set_error_literal(error, SPICE_ACCEL_ERROR, SPICE_ACCEL_ERROR_UNSUPPORTED,
                            cause->message);
        return FALSE;
    }
    sa_handle_install();
    sa_channels_set_pacing(options->pace, options->latency_ms * G_TIME_SPAN_MILLISECOND);
    sa_gtk3_start(options->paint);
    if (options->log != NULL) {
        sa_report_start(options->log);
    }
    return TRUE;
}

SA_EXPORT gboolean
spice_accel_attach(const char *text, GError **error)
{
    static gboolean attached;
    SaOptions options;

    if (attached) {
        return TRUE;
    }
    sa_options_parse(&options, text, warn_option, NULL);
    if (options.disabled) {
        g_set_error_literal(error, SPICE_ACCEL_ERROR, SPICE_ACCEL_ERROR_DISABLED,
                            "switched off by its options");
        return FALSE;
    }
    if (options.help) {
        g_autofree char *help = sa_options_help();

        fputs(help, stderr);
    }
    attached = attach(&options, error);
    sa_options_clear(&options);
    return attached;
}

SA_EXPORT gboolean
spice_accel_attach_from_environment(void)
{
    static gboolean tried, attached;
    g_autoptr(GError) error = NULL;

    if (tried) {
        return attached; /* preloaded and a GTK module as well: what was wrong has been said */
    }
    tried = TRUE;
    attached = spice_accel_attach(g_getenv("SPICE_ACCEL"), &error);
    if (attached) {
        return TRUE;
    }
    if (!g_error_matches(error, SPICE_ACCEL_ERROR, SPICE_ACCEL_ERROR_DISABLED)) {
        sa_warn("%s; the viewer runs as without it", error->message);
    }
    return FALSE;
}
