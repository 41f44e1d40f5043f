/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "client/session.h"

static GHashTable *sessions; /* id -> SaSession, not owned */
static guint session_count;

SaSession *
sa_session_new(void)
{
    SaSession *session = g_new0(SaSession, 1);

    session->refs = 1;
    session->number = ++session_count;
    sa_round_trip_init(&session->round_trip);
    return session;
}

static void
session_list(SaSession *session, guint32 id)
{
    if (sessions == NULL) {
        sessions = g_hash_table_new(NULL, NULL);
    }
    session->id = id;
    session->listed = TRUE;
    g_hash_table_insert(sessions, GUINT_TO_POINTER(id), session);
}

static SaSession *
session_lookup(guint32 id)
{
    return sessions != NULL ? g_hash_table_lookup(sessions, GUINT_TO_POINTER(id)) : NULL;
}

SaSession *
sa_session_find(guint32 id)
{
    SaSession *session = session_lookup(id);

    if (session != NULL) {
        return sa_session_ref(session);
    }
    session = sa_session_new();
    session_list(session, id);
    return session;
}

void
sa_session_identify(SaSession *session, guint32 id)
{
    SaSession *known = session_lookup(id);

    if (known != NULL) {
        known->listed = FALSE;
    }
    if (session->listed) {
        g_hash_table_remove(sessions, GUINT_TO_POINTER(session->id));
    }
    session_list(session, id);
}

SaSession *
sa_session_ref(SaSession *session)
{
    session->refs++;
    return session;
}

void
sa_session_unref(SaSession *session)
{
    if (session == NULL || --session->refs > 0) {
        return;
    }
    if (session->listed) {
        g_hash_table_remove(sessions, GUINT_TO_POINTER(session->id));
    }
    g_free(session);
}
