/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "client/options.h"

#include <string.h>

/* Longest time that is one: an hour. */
#define MS_MAX 3600000u
/* Bytes of a value that a message repeats. */
#define SHOWN_MAX 60u

typedef enum {
    OPTION_FLAG, /* 0 or 1; nothing means 1 */
    OPTION_FILE, /* a file name; empty or 0: none */
    OPTION_MS,   /* whole milliseconds */
} OptionType;

typedef struct {
    const char *key;
    OptionType type;
    gsize offset;
    const char *fallback;
    const char *meaning;
} Option;

static const Option options_table[] = {
    {"help", OPTION_FLAG, G_STRUCT_OFFSET(SaOptions, help), "0", "print this list and go on"},
    {"log", OPTION_FILE, G_STRUCT_OFFSET(SaOptions, log), "",
     "append one line a second and channel to this file, comma separated values"},
    {"pace", OPTION_FLAG, G_STRUCT_OFFSET(SaOptions, pace), "1",
     "hold back the viewer's ACKs while more is on the way than the link needs"},
    {"latency", OPTION_MS, G_STRUCT_OFFSET(SaOptions, latency_ms), "100",
     "backlog on the way that pacing lets be, ms"},
    {"paint", OPTION_FLAG, G_STRUCT_OFFSET(SaOptions, paint), "1",
     "paint fresh draws at once instead of at the next frame (GTK 3)"},
};

static const char *
option_values(OptionType type)
{
    switch (type) {
    case OPTION_FLAG:
        return "0|1";
    case OPTION_FILE:
        return "FILE";
    case OPTION_MS:
        return "MS";
    }
    return "";
}

static const Option *
option_find(const char *key)
{
    for (gsize i = 0; i < G_N_ELEMENTS(options_table); i++) {
        if (strcmp(options_table[i].key, key) == 0) {
            return &options_table[i];
        }
    }
    return NULL;
}

/* For a message: escaped, and not longer than a line takes. */
static char *
shown_value(const char *value)
{
    g_autofree char *start = g_strndup(value, SHOWN_MAX);
    g_autofree char *escaped = g_strescape(start, NULL);

    return g_strconcat(escaped, strlen(value) > SHOWN_MAX ? "..." : "", NULL);
}

static void
warn_unknown_key(const char *key, SaOptionsWarn warn, gpointer data)
{
    g_autoptr(GString) text = g_string_new(NULL);
    g_autofree char *shown = shown_value(key);

    g_string_append_printf(text, "SPICE_ACCEL: there is no option '%s'; there are:", shown);
    for (gsize i = 0; i < G_N_ELEMENTS(options_table); i++) {
        g_string_append_printf(text, " %s", options_table[i].key);
    }
    g_string_append(text, ", and 0, which disables everything");
    warn(text->str, data);
}

static void
warn_value(const Option *option, const char *value, SaOptionsWarn warn, gpointer data)
{
    g_autofree char *shown = value != NULL ? shown_value(value) : g_strdup("nothing");
    g_autofree char *text =
        option->type == OPTION_MS
            ? g_strdup_printf("SPICE_ACCEL: %s=%s is not understood; it takes whole milliseconds "
                              "from 0 to %u",
                              option->key, shown, MS_MAX)
            : g_strdup_printf("SPICE_ACCEL: %s=%s is not understood; it takes %s", option->key,
                              shown, option_values(option->type));

    warn(text, data);
}

static void
option_set(SaOptions *options, const Option *option, const char *value, SaOptionsWarn warn,
           gpointer data)
{
    gpointer field = G_STRUCT_MEMBER_P(options, option->offset);
    guint64 number;

    switch (option->type) {
    case OPTION_FLAG:
        if (value == NULL || strcmp(value, "1") == 0) {
            *(gboolean *)field = TRUE;
        } else if (strcmp(value, "0") == 0) {
            *(gboolean *)field = FALSE;
        } else {
            warn_value(option, value, warn, data);
        }
        break;
    case OPTION_FILE:
        if (value == NULL) {
            g_autofree char *text = g_strdup_printf("SPICE_ACCEL: %s needs a file name: %s=FILE",
                                                    option->key, option->key);
            warn(text, data);
            break;
        }
        g_free(*(char **)field);
        *(char **)field = value[0] == '\0' || strcmp(value, "0") == 0 ? NULL : g_strdup(value);
        break;
    case OPTION_MS:
        if (value != NULL && g_ascii_string_to_unsigned(value, 10, 0, MS_MAX, &number, NULL)) {
            *(guint *)field = number;
        } else {
            warn_value(option, value, warn, data);
        }
        break;
    }
}

/* Takes one item off the front of *text: up to a comma that has no backslash before it. The key
 * ends at the first '='; *value is NULL without one. FALSE at the end. */
static gboolean
next_item(const char **text, GString *key, GString *value, gboolean *has_value)
{
    const char *p = *text;
    GString *out = key;

    if (*p == '\0') {
        return FALSE;
    }
    g_string_truncate(key, 0);
    g_string_truncate(value, 0);
    *has_value = FALSE;
    for (; *p != '\0' && *p != ','; p++) {
        if (*p == '\\' && (p[1] == ',' || p[1] == '\\')) {
            p++;
        } else if (*p == '=' && !*has_value) {
            *has_value = TRUE;
            out = value;
            continue;
        }
        g_string_append_c(out, *p);
    }
    *text = *p == ',' ? p + 1 : p;
    return TRUE;
}

void
sa_options_parse(SaOptions *options, const char *text, SaOptionsWarn warn, gpointer data)
{
    g_autoptr(GString) key = g_string_new(NULL);
    g_autoptr(GString) value = g_string_new(NULL);
    gboolean has_value;

    memset(options, 0, sizeof(*options));
    for (gsize i = 0; i < G_N_ELEMENTS(options_table); i++) {
        if (options_table[i].fallback[0] != '\0') {
            option_set(options, &options_table[i], options_table[i].fallback, warn, data);
        }
    }
    if (text == NULL) {
        return;
    }
    while (next_item(&text, key, value, &has_value)) {
        const Option *option;

        g_strstrip(key->str);
        if (key->str[0] == '\0' && !has_value) {
            continue; /* an empty item, as a trailing comma leaves it */
        }
        if (strcmp(key->str, "0") == 0 && !has_value) {
            options->disabled = TRUE; /* in doubt, off */
            continue;
        }
        option = option_find(key->str);
        if (option == NULL) {
            warn_unknown_key(key->str, warn, data);
        } else {
            option_set(options, option, has_value ? value->str : NULL, warn, data);
        }
    }
}

void
sa_options_clear(SaOptions *options)
{
    g_clear_pointer(&options->log, g_free);
}

char *
sa_options_help(void)
{
    GString *text = g_string_new("SPICE_ACCEL=key[=value],... (0 disables everything)\n");

    for (gsize i = 0; i < G_N_ELEMENTS(options_table); i++) {
        const Option *o = &options_table[i];
        g_autofree char *form = g_strdup_printf("%s=%s", o->key, option_values(o->type));

        g_string_append_printf(text, "  %-14s %s (default: %s)\n", form, o->meaning,
                               o->fallback[0] != '\0' ? o->fallback : "none");
    }
    return g_string_free(text, FALSE);
}
