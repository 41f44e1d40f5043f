/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "page.h"

#include "noise.h"

#include <string.h>

enum {
    LINES = 400,
    BODY_CAP = 10,
    BODY_WEIGHT = 18,
    HEADING_CAP = 12,
    HEADING_WEIGHT = 30,
    BODY_COLOUR = 0x22262a,
    HEADING_COLOUR = 0x1b4f8a,
};

static const gchar *const headings[] = {
    "What a viewer waits for",  "Bytes on their way",      "Reading on a moving train",
    "A short history of ink",   "Notes on the night line", "How letters are drawn",
    "The window and the queue", "Weather at the harbour",  "Small things, first",
};

static const gchar *const sentences[] = {
    "A picture that arrives late is worse than a picture that never left.",
    "The queue in front of a slow road is as long as somebody allows it to be.",
    "Letters are hard on a coder: every edge is sharp and every edge matters.",
    "When the screen stands still, nothing should travel at all.",
    "She pressed a key and counted: one, two, three; then the box turned orange.",
    "Most of a page is white, and white costs almost nothing.",
    "The ferry leaves at 7:40, 9:15 and 12:30; on Sundays only at 10:05.",
    "Between the question and the answer lies one round trip, never less.",
    "A clock with two hands is never quite right, but it is quick to read.",
    "Nobody sees the frame that was replaced before it was sent.",
    "Grey is what remains of a thin line that falls between two pixels.",
    "Half of the delay was in the road, the other half in the waiting room.",
    "Old maps show the sea in great detail and the land hardly at all.",
    "If the newest page is what you want, do not stack the pages.",
    "The printer kept 26 drawers of type, and a 27th for what had been dropped.",
    "Rain on the window makes a poor film: it never repeats and never ends.",
    "What moves may be blurred; what stands still has to be right.",
    "A good caption says in six words what the picture cannot say.",
    "They measured it twice, in the morning and at night, and kept both sheets.",
    "Every second line was in Latin, which made the index twice as long.",
    "You can hear a modem think, but not for how long.",
    "The lighthouse sends one bit every four seconds and has never lost one.",
    "Text beside a film is still text, and it is read with the same eyes.",
    "With 80 ms to the other side, 12 answers a second are the best there is.",
    "The first mark on the paper decides where all the others go.",
    "It took three people to carry the table and one to say where to put it.",
    "A wide road helps the lorry; the bicycle only wants it to be empty.",
};

static const guint steps[] = {2, 4, 5, 7, 8, 10, 11, 13};

struct SaPage {
    SaFont *body;
    SaFont *heading;
    gchar *lines[LINES]; /* NULL: blank */
    gboolean is_heading[LINES];
};

/* Appends one paragraph's lines at 'line'; returns the next free one, LINES when full. */
static guint
wrap(SaPage *page, guint line, const gchar *text, gint width)
{
    while (*text && line < LINES) {
        gsize fits = 0;

        for (gsize end = 0;;) {
            end += strcspn(text + end, " ");
            if (fits && sa_font_width(page->body, text, (gssize)end) > width)
                break;
            fits = end;
            if (!text[end])
                break;
            end++;
        }
        page->lines[line++] = g_strndup(text, fits);
        text += fits;
        text += strspn(text, " ");
    }
    return line;
}

SaPage *
sa_page_new(guint32 seed, gint width)
{
    SaPage *page = g_new0(SaPage, 1);
    guint64 random = sa_noise_start(seed, 0x70616765, 0);
    guint line = 0;

    page->body = sa_font_new(BODY_CAP, BODY_WEIGHT);
    page->heading = sa_font_new(HEADING_CAP, HEADING_WEIGHT);
    while (line < LINES) {
        guint paragraphs = 2 + sa_noise_next(&random) % 3;

        page->is_heading[line] = TRUE;
        page->lines[line++] = g_strdup(headings[sa_noise_next(&random) % G_N_ELEMENTS(headings)]);
        while (paragraphs-- > 0 && line < LINES) {
            guint n = 3 + sa_noise_next(&random) % 4;
            guint pick = sa_noise_next(&random);
            g_autoptr(GString) text = g_string_new(NULL);

            /* A step that is prime to the number of sentences repeats none in a paragraph. */
            guint step = steps[sa_noise_next(&random) % G_N_ELEMENTS(steps)];

            for (guint i = 0; i < n; i++) {
                g_string_append_printf(text, "%s%s", i > 0 ? " " : "",
                                       sentences[(pick + i * step) % G_N_ELEMENTS(sentences)]);
            }
            line = wrap(page, line, text->str, width);
            line++; /* blank */
        }
    }
    return page;
}

void
sa_page_free(SaPage *page)
{
    if (!page)
        return;
    for (guint i = 0; i < LINES; i++)
        g_free(page->lines[i]);
    sa_font_free(page->body);
    sa_font_free(page->heading);
    g_free(page);
}

void
sa_page_draw_line(const SaPage *page, guint index, const SaCanvas *canvas, gint x, gint y)
{
    guint line = index % LINES;

    if (!page->lines[line])
        return;
    if (page->is_heading[line])
        sa_font_draw(page->heading, canvas, x, y + 1, page->lines[line], HEADING_COLOUR);
    else
        sa_font_draw(page->body, canvas, x, y + 3, page->lines[line], BODY_COLOUR);
}

const SaFont *
sa_page_body_font(const SaPage *page)
{
    return page->body;
}

const SaFont *
sa_page_heading_font(const SaPage *page)
{
    return page->heading;
}
