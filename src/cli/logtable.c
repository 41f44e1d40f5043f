/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/logtable.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* A row is a few hundred bytes; what is longer is no log. */
#define MAX_LINE 65536

typedef enum Line {
    LINE_WHOLE,
    LINE_TOO_LONG,
    LINE_TORN, /* the file ends in it */
    LINE_NONE,
} Line;

/* A value that is no number, in a column not yet known to be numeric or not. */
typedef struct Text {
    guint64 line;
    guint column;
    char *value;
} Text;

typedef struct Reader {
    SaLogTable *table;
    char *header;
    guint channel_column, pid_column, session_column; /* n_columns: there is none */
    guint64 line;
    guint64 *n_numbers, *n_texts; /* one a column */
    GArray *texts;                /* of Text; no more than MAX_TEXTS a column */
    GHashTable *channels;         /* "PID,SESSION,NAME" -> SaLogChannel, borrowed */
} Reader;

#define MAX_TEXTS 100

static Line
read_line(FILE *file, GString *line)
{
    gboolean too_long = FALSE;
    int c;

    g_string_truncate(line, 0);
    while ((c = getc(file)) != EOF && c != '\n') {
        if (line->len == MAX_LINE)
            too_long = TRUE;
        else
            g_string_append_c(line, (char)c);
    }
    if (c == EOF)
        return line->len > 0 ? LINE_TORN : LINE_NONE;
    if (line->len > 0 && line->str[line->len - 1] == '\r')
        g_string_truncate(line, line->len - 1);
    return too_long ? LINE_TOO_LONG : LINE_WHOLE;
}

static void
add_fault(SaLogTable *table, guint64 line, char *text)
{
    SaLogFault fault = {line, text};

    g_array_append_val(table->faults, fault);
}

static void
clear_fault(gpointer data)
{
    g_free(((SaLogFault *)data)->text);
}

static void
clear_text(gpointer data)
{
    g_free(((Text *)data)->value);
}

/* NULL when the row has no such value. */
static const char *
value_of(const Reader *reader, const GStrv fields, guint column)
{
    return column < reader->table->n_columns && *fields[column] ? fields[column] : NULL;
}

static SaLogChannel *
channel_of(Reader *reader, const GStrv fields)
{
    SaLogTable *table = reader->table;
    const char *name = fields[reader->channel_column];
    const char *pid = value_of(reader, fields, reader->pid_column);
    const char *session = value_of(reader, fields, reader->session_column);
    g_autofree char *key =
        g_strconcat(pid ? pid : "", ",", session ? session : "", ",", name, NULL);
    SaLogChannel *channel = g_hash_table_lookup(reader->channels, key);
    const SaLogChannel *first;

    if (channel)
        return channel;
    channel = g_new0(SaLogChannel, 1);
    channel->name = g_strdup(name);
    channel->pid = g_strdup(pid);
    channel->session = g_strdup(session);
    channel->values = g_new0(GArray *, table->n_columns);
    for (guint i = 0; i < table->n_columns; i++)
        channel->values[i] = g_array_new(FALSE, FALSE, sizeof(double));
    g_ptr_array_add(table->channels, channel);
    first = g_ptr_array_index(table->channels, 0);
    table->several_pids |= g_strcmp0(pid, first->pid) != 0;
    table->several_sessions |= g_strcmp0(session, first->session) != 0;
    g_hash_table_insert(reader->channels, g_steal_pointer(&key), channel);
    return channel;
}

static void
free_channel(SaLogChannel *channel, guint n_columns)
{
    for (guint i = 0; i < n_columns; i++)
        g_array_unref(channel->values[i]);
    g_free(channel->values);
    g_free(channel->name);
    g_free(channel->pid);
    g_free(channel->session);
    g_free(channel);
}

static gboolean
parse_number(const char *text, double *number)
{
    char *end;

    *number = g_ascii_strtod(text, &end);
    return end != text && *end == '\0' && isfinite(*number);
}

static void
read_row(Reader *reader, const GString *line)
{
    SaLogTable *table = reader->table;
    g_auto(GStrv) fields = NULL;
    SaLogChannel *channel;
    guint n;

    if (strlen(line->str) != line->len) {
        add_fault(table, reader->line, g_strdup("not text"));
        return;
    }
    fields = g_strsplit(line->str, ",", -1);
    n = g_strv_length(fields);
    if (n != table->n_columns) {
        add_fault(table, reader->line,
                  g_strdup_printf("%u values, the header has %u", n, table->n_columns));
        return;
    }
    if (!*fields[reader->channel_column]) {
        add_fault(table, reader->line, g_strdup("no channel"));
        return;
    }

    channel = channel_of(reader, fields);
    channel->rows++;
    for (guint i = 0; i < n; i++) {
        double number;

        if (i == reader->channel_column || !*fields[i])
            continue;
        if (parse_number(fields[i], &number)) {
            reader->n_numbers[i]++;
            g_array_append_val(channel->values[i], number);
        } else if (reader->n_texts[i]++ < MAX_TEXTS) {
            Text text = {reader->line, i, g_strndup(fields[i], 40)};

            g_array_append_val(reader->texts, text);
        }
    }
}

/* n_columns: there is none. */
static guint
find_column(const SaLogTable *table, const char *name)
{
    guint i = 0;

    while (i < table->n_columns && strcmp(table->columns[i], name) != 0)
        i++;
    return i;
}

static gboolean
read_header(Reader *reader, FILE *file, GString *line, GError **error)
{
    SaLogTable *table = reader->table;
    const Line kind = read_line(file, line);

    if (kind == LINE_NONE) {
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL, "it is empty");
        return FALSE;
    }
    table->columns = g_strsplit(line->str, ",", -1);
    table->n_columns = g_strv_length(table->columns);
    reader->line = 1;
    reader->header = g_strdup(line->str);
    reader->channel_column = find_column(table, "channel");
    reader->pid_column = find_column(table, "pid");
    reader->session_column = find_column(table, "session");
    if (kind == LINE_WHOLE && strlen(line->str) == line->len &&
        reader->channel_column < table->n_columns)
        return TRUE;
    g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
                "its first line is not the header of a log: no column 'channel'");
    return FALSE;
}

static void
read_rows(Reader *reader, FILE *file, GString *line)
{
    Line kind;

    while ((kind = read_line(file, line)) == LINE_WHOLE || kind == LINE_TOO_LONG) {
        reader->line++;
        if (kind == LINE_TOO_LONG)
            add_fault(reader->table, reader->line,
                      g_strdup_printf("longer than %d bytes", MAX_LINE));
        else if (strcmp(line->str, reader->header) != 0)
            read_row(reader, line);
    }
}

static int
compare_faults(gconstpointer a, gconstpointer b)
{
    const guint64 x = ((const SaLogFault *)a)->line, y = ((const SaLogFault *)b)->line;

    return (x > y) - (x < y);
}

/* Now that all rows are known: which columns are numeric, and what in them is not. */
static void
judge_columns(Reader *reader)
{
    SaLogTable *table = reader->table;

    table->numeric = g_new0(gboolean, table->n_columns);
    for (guint i = 0; i < table->n_columns; i++)
        table->numeric[i] = reader->n_numbers[i] > 0 && reader->n_numbers[i] >= reader->n_texts[i];
    for (guint i = 0; i < reader->texts->len; i++) {
        const Text *text = &g_array_index(reader->texts, Text, i);
        g_autofree char *shown = NULL;

        if (!table->numeric[text->column])
            continue;
        shown = g_strescape(text->value, NULL);
        add_fault(table, text->line,
                  g_strdup_printf("%s is not a number: '%s'", table->columns[text->column], shown));
    }
    g_array_sort(table->faults, compare_faults);
}

SaLogTable *
sa_log_table_read(FILE *file, GError **error)
{
    g_autoptr(SaLogTable) table = g_new0(SaLogTable, 1);
    g_autoptr(GString) line = g_string_new(NULL);
    Reader reader = {.table = table};
    gboolean fine;

    table->channels = g_ptr_array_new();
    table->faults = g_array_new(FALSE, FALSE, sizeof(SaLogFault));
    g_array_set_clear_func(table->faults, clear_fault);

    fine = read_header(&reader, file, line, error);
    if (fine) {
        reader.n_numbers = g_new0(guint64, table->n_columns);
        reader.n_texts = g_new0(guint64, table->n_columns);
        reader.texts = g_array_new(FALSE, FALSE, sizeof(Text));
        g_array_set_clear_func(reader.texts, clear_text);
        reader.channels = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        read_rows(&reader, file, line);
        judge_columns(&reader);
        g_hash_table_unref(reader.channels);
        g_array_unref(reader.texts);
        g_free(reader.n_texts);
        g_free(reader.n_numbers);
    }
    g_free(reader.header);
    if (ferror(file)) {
        g_clear_error(error);
        g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(errno), "%s", g_strerror(errno));
        fine = FALSE;
    }
    return fine ? g_steal_pointer(&table) : NULL;
}

void
sa_log_table_free(SaLogTable *table)
{
    if (!table)
        return;
    for (guint i = 0; i < table->channels->len; i++)
        free_channel(g_ptr_array_index(table->channels, i), table->n_columns);
    g_ptr_array_unref(table->channels);
    g_array_unref(table->faults);
    g_strfreev(table->columns);
    g_free(table->numeric);
    g_free(table);
}
