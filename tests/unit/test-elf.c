/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* Images lie in memory with pages that cannot be read before, between and behind their segments:
 * a read outside ends the test. */
#include "client/elf.h"

#include <elf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "elf-image.h"

static const guint64 bases[2] = {0xf7a10000, 0x7f0012340000};

static gsize
page_size(void)
{
    return (gsize)sysconf(_SC_PAGESIZE);
}

/* n pages that cannot be accessed. */
static guint8 *
map_nothing(guint n)
{
    guint8 *pages = mmap(NULL, n * page_size(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    g_assert_true(pages != MAP_FAILED);
    return pages;
}

static void
allow(guint8 *page)
{
    g_assert_cmpint(mprotect(page, page_size(), PROT_READ | PROT_WRITE), ==, 0);
}

/* guard, text, hole, data, guard. */
typedef struct Fixture {
    guint8 *pages;
    guint8 *bytes;
    ElfImage image;
    ElfImageKind kind;
    SaElfMemory memory;
    SaElf elf;
    SaElfImport imports[5];
} Fixture;

static void
fixture_init(Fixture *fixture)
{
    memset(fixture, 0, sizeof *fixture);
    fixture->pages = map_nothing(5);
    fixture->bytes = fixture->pages + page_size();
    allow(fixture->bytes);
    allow(fixture->bytes + 2 * page_size());
}

static void
fixture_clear(Fixture *fixture)
{
    munmap(fixture->pages, 5 * page_size());
}

/* Text ends with its page and data begins with its own. */
static void
build(Fixture *fixture, const SaElfMachine *machine, gboolean addend, gboolean absolute)
{
    fixture->kind = (ElfImageKind){
        .machine = machine,
        .addend = addend,
        .absolute = absolute,
        .base = bases[machine->is64 ? 1 : 0],
        .data = (guint32)(2 * page_size()),
        .extra_tag = fixture->kind.extra_tag,
        .extra_value = fixture->kind.extra_value,
    };
    elf_image_build(&fixture->image, &fixture->kind, fixture->bytes);
    fixture->memory = (SaElfMemory){fixture->bytes, fixture->kind.base, 3 * page_size()};
}

static SaElfStatus
find(Fixture *fixture)
{
    static const char *const names[] = {"alpha", "beta", "gamma", "delta", "alph"};
    SaElfStatus status;

    for (guint i = 0; i < G_N_ELEMENTS(names); i++)
        fixture->imports[i] = (SaElfImport){.symbol = names[i], .n_slots = 7};
    status = sa_elf_init(&fixture->elf, fixture->kind.machine, fixture->kind.base,
                         fixture->image.headers, fixture->image.n_headers, &fixture->memory);
    if (status != SA_ELF_OK)
        return status;
    return sa_elf_find(&fixture->elf, fixture->imports, G_N_ELEMENTS(names));
}

static guint64
slot(const Fixture *fixture, guint32 offset)
{
    return fixture->kind.base + fixture->kind.data + offset;
}

static void
check_found(const Fixture *fixture)
{
    const SaElfImport *imports = fixture->imports;

    g_assert_cmpuint(imports[0].n_slots, ==, 2);
    g_assert_cmphex(imports[0].slots[0], ==, slot(fixture, ELF_IMAGE_ALPHA_PLT));
    g_assert_cmphex(imports[0].slots[1], ==, slot(fixture, ELF_IMAGE_ALPHA_GOT));
    g_assert_false(imports[0].in_data);
    g_assert_cmpuint(imports[1].n_slots, ==, 1);
    g_assert_cmphex(imports[1].slots[0], ==, slot(fixture, ELF_IMAGE_BETA));
    g_assert_cmpuint(imports[2].n_slots, ==, 0); /* its own, not imported */
    g_assert_cmpuint(imports[3].n_slots, ==, 0);
    g_assert_true(imports[3].in_data);
    g_assert_cmpuint(imports[4].n_slots, ==, 0); /* only the start of a name */
}

static const SaElfMachine *const *
machines(void)
{
    static const SaElfMachine *all[5];

    all[0] = sa_elf_machine(EM_X86_64, TRUE);
    all[1] = sa_elf_machine(EM_AARCH64, TRUE);
    all[2] = sa_elf_machine(EM_386, FALSE);
    all[3] = sa_elf_machine(EM_ARM, FALSE);
    for (guint i = 0; i < 4; i++)
        g_assert_nonnull(all[i]);
    return all;
}

static void
test_machines(void)
{
    g_assert_null(sa_elf_machine(EM_X86_64, FALSE)); /* x32 */
    g_assert_null(sa_elf_machine(EM_AARCH64, FALSE));
    g_assert_null(sa_elf_machine(EM_386, TRUE));
    g_assert_null(sa_elf_machine(EM_S390, TRUE));
    g_assert_cmpuint(sa_elf_machine(EM_AARCH64, TRUE)->jump_slot, ==, 1026);
    g_assert_cmpuint(sa_elf_machine(EM_AARCH64, TRUE)->glob_dat, ==, 1025);
    g_assert_cmpuint(sa_elf_machine(EM_ARM, FALSE)->jump_slot, ==, 22);
    g_assert_cmpuint(sa_elf_machine(EM_ARM, FALSE)->glob_dat, ==, 21);
    g_assert_cmpuint(sa_elf_machine(EM_386, FALSE)->jump_slot, ==, 7);
    g_assert_cmpuint(sa_elf_machine(EM_X86_64, TRUE)->glob_dat, ==, 6);
}

static void
test_find(void)
{
    Fixture fixture;

    fixture_init(&fixture);
    for (const SaElfMachine *const *machine = machines(); *machine; machine++)
        for (guint i = 0; i < 4; i++) {
            g_test_message("machine %u, %s, pointers %s", (*machine)->machine,
                           i & 1 ? "RELA" : "REL", i & 2 ? "absolute" : "relative");
            build(&fixture, *machine, (i & 1) != 0, (i & 2) != 0);
            g_assert_cmpint(find(&fixture), ==, SA_ELF_OK);
            check_found(&fixture);
            g_assert_false(fixture.elf.bind_now);
        }
    fixture_clear(&fixture);
}

static void
test_bind_now(void)
{
    static const struct {
        gint64 tag;
        guint64 value;
        gboolean bind_now;
    } cases[] = {
        {DT_BIND_NOW, 0, TRUE},          {DT_FLAGS, DF_BIND_NOW, TRUE},
        {DT_FLAGS, DF_SYMBOLIC, FALSE},  {DT_FLAGS_1, DF_1_NOW | DF_1_NODELETE, TRUE},
        {DT_FLAGS_1, DF_1_GROUP, FALSE},
    };
    Fixture fixture;

    fixture_init(&fixture);
    for (const SaElfMachine *const *machine = machines(); *machine; machine++)
        for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
            fixture.kind.extra_tag = cases[i].tag;
            fixture.kind.extra_value = cases[i].value;
            build(&fixture, *machine, (*machine)->is64, TRUE);
            g_assert_cmpint(find(&fixture), ==, SA_ELF_OK);
            g_assert_cmpint(fixture.elf.bind_now, ==, cases[i].bind_now);
        }
    fixture_clear(&fixture);
}

/* The same slot in both tables, as with linkers that count the PLT's relocations into DT_RELASZ. */
static void
test_same_slot_twice(void)
{
    Fixture fixture;

    fixture_init(&fixture);
    build(&fixture, sa_elf_machine(EM_X86_64, TRUE), TRUE, TRUE);
    elf_image_set_relocation(&fixture.image, &fixture.kind, ELF_IMAGE_OTHER, 2,
                             fixture.kind.data + ELF_IMAGE_ALPHA_PLT, 1, R_X86_64_JUMP_SLOT);
    g_assert_cmpint(find(&fixture), ==, SA_ELF_OK);
    g_assert_cmpuint(fixture.imports[0].n_slots, ==, 1);
    fixture_clear(&fixture);
}

static void
test_no_relocations(void)
{
    Fixture fixture;

    fixture_init(&fixture);
    build(&fixture, sa_elf_machine(EM_X86_64, TRUE), TRUE, TRUE);
    g_assert_true(elf_image_set(&fixture.image, &fixture.kind, DT_JMPREL, 0, TRUE));
    g_assert_true(elf_image_set(&fixture.image, &fixture.kind, DT_RELASZ, 0, FALSE));
    g_assert_cmpint(find(&fixture), ==, SA_ELF_OK);
    for (guint i = 0; i < G_N_ELEMENTS(fixture.imports); i++)
        g_assert_cmpuint(fixture.imports[i].n_slots, ==, 0);
    fixture_clear(&fixture);
}

/* A name whose end is cut off is not the name, and nothing is read behind the last one. */
static void
test_strings_at_the_end(void)
{
    SaElfImport longer = {.symbol = "delta-and-as-much-again-as-a-vector-holds"};
    Fixture fixture;

    fixture_init(&fixture);
    for (const SaElfMachine *const *machine = machines(); *machine; machine++) {
        const gsize size = 24, at = page_size() - size; /* all of them, the last NUL included */

        build(&fixture, *machine, (*machine)->is64, FALSE);
        memcpy(fixture.bytes + at, fixture.bytes + ELF_IMAGE_STRINGS, size);
        elf_image_set_header(&fixture.image, &fixture.kind, 0, PT_LOAD, PF_R, 0, page_size());
        g_assert_true(elf_image_set(&fixture.image, &fixture.kind, DT_STRTAB, at, FALSE));
        g_assert_true(elf_image_set(&fixture.image, &fixture.kind, DT_STRSZ, size, FALSE));
        g_assert_cmpint(find(&fixture), ==, SA_ELF_OK);
        check_found(&fixture);
        g_assert_cmpint(sa_elf_find(&fixture.elf, &longer, 1), ==, SA_ELF_OK);
        g_assert_cmpuint(longer.n_slots, ==, 0);

        g_assert_true(elf_image_set(&fixture.image, &fixture.kind, DT_STRSZ, size - 1, FALSE));
        g_assert_cmpint(find(&fixture), ==, SA_ELF_OK);
        g_assert_false(fixture.imports[3].in_data); /* delta */
        g_assert_cmpuint(fixture.imports[0].n_slots, ==, 2);
    }
    fixture_clear(&fixture);
}

/* One change of a good image, and what must be said about it. */
typedef struct Refusal {
    const char *name;
    SaElfStatus status;
    gint64 tag; /* 0: see change */
    guint64 value;
    gboolean removed;
    void (*change)(Fixture *fixture);
} Refusal;

static void
no_segments(Fixture *fixture)
{
    fixture->image.n_headers = 0;
}

static void
unreadable_segments(Fixture *fixture)
{
    for (guint i = 0; i < 2; i++)
        elf_image_set_header(&fixture->image, &fixture->kind, i, PT_LOAD, PF_X, 0,
                             ELF_IMAGE_TEXT_END);
}

static void
no_dynamic(Fixture *fixture)
{
    elf_image_set_header(&fixture->image, &fixture->kind, 2, PT_NOTE, PF_R, 0, 0x20);
}

static void
dynamic_in_hole(Fixture *fixture)
{
    elf_image_set_header(&fixture->image, &fixture->kind, 2, PT_DYNAMIC, PF_R, page_size(), 0x80);
}

static void
dynamic_too_long(Fixture *fixture)
{
    elf_image_set_header(&fixture->image, &fixture->kind, 2, PT_DYNAMIC, PF_R, fixture->kind.data,
                         G_MAXUINT32);
}

static void
segment_past_memory(Fixture *fixture)
{
    fixture->memory.size -= page_size() - ELF_IMAGE_DATA_SIZE + 1;
}

static void
segment_before_memory(Fixture *fixture)
{
    fixture->memory.address += 1;
}

static void
segment_wraps(Fixture *fixture)
{
    elf_image_set_header(&fixture->image, &fixture->kind, 0, PT_LOAD, PF_R, 0x100,
                         fixture->kind.machine->is64 ? G_MAXUINT64 - 0x80 : G_MAXUINT32 - 0x80);
}

static void
symbol_far_away(Fixture *fixture)
{
    elf_image_set_relocation(&fixture->image, &fixture->kind, ELF_IMAGE_PLT, 1,
                             fixture->kind.data + ELF_IMAGE_GAMMA, 0xffffff,
                             fixture->kind.machine->jump_slot);
}

static void
slot_in_text(Fixture *fixture)
{
    elf_image_set_relocation(&fixture->image, &fixture->kind, ELF_IMAGE_PLT, 0, 0x100, 1,
                             fixture->kind.machine->jump_slot);
}

static void
slot_in_hole(Fixture *fixture)
{
    elf_image_set_relocation(&fixture->image, &fixture->kind, ELF_IMAGE_PLT, 0, page_size(), 1,
                             fixture->kind.machine->jump_slot);
}

static void
slot_at_the_end(Fixture *fixture)
{
    elf_image_set_relocation(&fixture->image, &fixture->kind, ELF_IMAGE_PLT, 0,
                             fixture->kind.data + ELF_IMAGE_DATA_SIZE, 1,
                             fixture->kind.machine->jump_slot);
}

static void
slot_not_aligned(Fixture *fixture)
{
    elf_image_set_relocation(&fixture->image, &fixture->kind, ELF_IMAGE_PLT, 0,
                             fixture->kind.data + ELF_IMAGE_ALPHA_PLT + 2, 1,
                             fixture->kind.machine->jump_slot);
}

static void
many_slots(Fixture *fixture)
{
    for (guint i = 0; i < 4; i++)
        elf_image_set_relocation(&fixture->image, &fixture->kind, ELF_IMAGE_OTHER, i,
                                 fixture->kind.data + ELF_IMAGE_BETA + 8 * i, 1,
                                 fixture->kind.machine->glob_dat);
}

static void
long_symbols(Fixture *fixture)
{
    const gboolean is64 = fixture->kind.machine->is64;

    elf_image_set(&fixture->image, &fixture->kind, DT_SYMENT,
                  (is64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym)) + 8, FALSE);
}

static const Refusal refusals[] = {
    {"no segments", SA_ELF_NO_SEGMENTS, .change = no_segments},
    {"unreadable segments", SA_ELF_NO_SEGMENTS, .change = unreadable_segments},
    {"segment past the memory", SA_ELF_SEGMENT_OUTSIDE, .change = segment_past_memory},
    {"segment before the memory", SA_ELF_SEGMENT_OUTSIDE, .change = segment_before_memory},
    {"segment wraps", SA_ELF_SEGMENT_OUTSIDE, .change = segment_wraps},
    {"no dynamic section", SA_ELF_NO_DYNAMIC, .change = no_dynamic},
    {"dynamic section in the hole", SA_ELF_DYNAMIC_OUTSIDE, .change = dynamic_in_hole},
    {"dynamic section too long", SA_ELF_DYNAMIC_OUTSIDE, .change = dynamic_too_long},
    {"no symbols", SA_ELF_NO_SYMBOLS, DT_SYMTAB, 0, TRUE},
    {"no strings", SA_ELF_NO_SYMBOLS, DT_STRTAB, 0, TRUE},
    {"long symbols", SA_ELF_BAD_ENTRY_SIZE, .change = long_symbols},
    {"relocation entries of 1", SA_ELF_BAD_ENTRY_SIZE, -1 /* RELENT or RELAENT */, 1},
    {"strings far away", SA_ELF_STRINGS_OUTSIDE, DT_STRTAB, 0x70000000},
    {"strings without end", SA_ELF_STRINGS_OUTSIDE, DT_STRSZ, 0xffffffff},
    {"strings of no length", SA_ELF_NAME_OUTSIDE, DT_STRSZ, 0},
    {"strings cut", SA_ELF_NAME_OUTSIDE, DT_STRSZ, 12},
    {"symbols far away", SA_ELF_SYMBOL_OUTSIDE, DT_SYMTAB, 0x70000000},
    {"symbols at the end", SA_ELF_SYMBOL_OUTSIDE, DT_SYMTAB, ELF_IMAGE_TEXT_END - 8},
    {"PLT of no kind", SA_ELF_BAD_RELOCATION_KIND, DT_PLTREL, 0},
    {"PLT of a new kind", SA_ELF_BAD_RELOCATION_KIND, DT_PLTREL, 36},
    {"PLT cut", SA_ELF_BAD_TABLE_SIZE, DT_PLTRELSZ, 7},
    {"PLT too long", SA_ELF_TABLE_OUTSIDE, DT_PLTRELSZ, 0xffffff00 / 48 * 48},
    {"PLT far away", SA_ELF_TABLE_OUTSIDE, DT_JMPREL, 0x70000000},
    {"PLT in the hole", SA_ELF_TABLE_OUTSIDE, DT_JMPREL, ELF_IMAGE_TEXT_END},
    {"symbol far away", SA_ELF_SYMBOL_OUTSIDE, .change = symbol_far_away},
    {"slot in the text", SA_ELF_SLOT_OUTSIDE, .change = slot_in_text},
    {"slot in the hole", SA_ELF_SLOT_OUTSIDE, .change = slot_in_hole},
    {"slot at the end", SA_ELF_SLOT_OUTSIDE, .change = slot_at_the_end},
    {"slot not aligned", SA_ELF_SLOT_OUTSIDE, .change = slot_not_aligned},
    {"too many slots", SA_ELF_TOO_MANY_SLOTS, .change = many_slots},
};

static void
test_refusals(void)
{
    Fixture fixture;

    fixture_init(&fixture);
    for (const SaElfMachine *const *machine = machines(); *machine; machine++)
        for (guint i = 0; i < G_N_ELEMENTS(refusals); i++) {
            const Refusal *refusal = &refusals[i];
            const gboolean addend = (*machine)->is64;
            const gint64 tag = refusal->tag != -1 ? refusal->tag : addend ? DT_RELAENT : DT_RELENT;

            g_test_message("machine %u: %s", (*machine)->machine, refusal->name);
            build(&fixture, *machine, addend, FALSE);
            if (refusal->change)
                refusal->change(&fixture);
            else
                g_assert_true(elf_image_set(&fixture.image, &fixture.kind, tag, refusal->value,
                                            refusal->removed));
            g_assert_cmpstr(sa_elf_status_text(find(&fixture)), ==,
                            sa_elf_status_text(refusal->status));
        }
    fixture_clear(&fixture);
}

static void
test_too_many_segments(void)
{
    const SaElfMachine *machine = sa_elf_machine(EM_X86_64, TRUE);
    Elf64_Phdr headers[SA_ELF_MAX_SEGMENTS + 1];
    const guint8 byte = 0;
    const SaElfMemory memory = {&byte, 0x1000, 1};
    SaElf elf;

    for (guint i = 0; i < G_N_ELEMENTS(headers); i++)
        headers[i] =
            (Elf64_Phdr){.p_type = PT_LOAD, .p_flags = PF_R, .p_vaddr = 0x1000, .p_memsz = 1};
    g_assert_cmpint(sa_elf_init(&elf, machine, 0, headers, SA_ELF_MAX_SEGMENTS, &memory), ==,
                    SA_ELF_NO_DYNAMIC);
    g_assert_cmpint(sa_elf_init(&elf, machine, 0, headers, SA_ELF_MAX_SEGMENTS + 1, &memory), ==,
                    SA_ELF_TOO_MANY_SEGMENTS);
}

/* Whatever is found in a broken image can be written to. */
static void
check_harmless(const Fixture *fixture, SaElfStatus status)
{
    const guint word = fixture->kind.machine->is64 ? 8 : 4;

    g_assert_cmpint(status, >=, SA_ELF_OK);
    g_assert_cmpint(status, <, SA_ELF_N_STATUS);
    g_assert_nonnull(sa_elf_status_text(status));
    if (status != SA_ELF_OK)
        return;
    for (guint i = 0; i < G_N_ELEMENTS(fixture->imports); i++) {
        g_assert_cmpuint(fixture->imports[i].n_slots, <=, SA_ELF_MAX_SLOTS);
        for (guint j = 0; j < fixture->imports[i].n_slots; j++)
            g_assert_true(sa_elf_contains(&fixture->elf, fixture->imports[i].slots[j], word));
    }
}

/* Every byte of headers and image changed, one at a time and with its neighbours. */
static void
test_mutations(void)
{
    static const guint8 values[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
    guint n_refused = 0, n_accepted = 0;
    Fixture fixture;

    fixture_init(&fixture);
    for (const SaElfMachine *const *machine = machines(); *machine; machine++) {
        gsize n_headers, n;

        build(&fixture, *machine, (*machine)->is64, TRUE);
        n_headers =
            fixture.image.n_headers * ((*machine)->is64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr));
        n = n_headers + ELF_IMAGE_TEXT_END + ELF_IMAGE_ALPHA_PLT;
        for (gsize at = 0; at < n; at++)
            for (guint i = 0; i < 2 * G_N_ELEMENTS(values); i++) {
                const gsize length = i < G_N_ELEMENTS(values) ? 1 : 4;
                guint8 *target = fixture.image.headers + at, saved[4];
                SaElfStatus status;

                if (at >= n_headers + ELF_IMAGE_TEXT_END)
                    target =
                        fixture.bytes + fixture.kind.data + at - n_headers - ELF_IMAGE_TEXT_END;
                else if (at >= n_headers)
                    target = fixture.bytes + at - n_headers;
                memcpy(saved, target, sizeof saved);
                memset(target, values[i % G_N_ELEMENTS(values)], length);
                status = find(&fixture);
                check_harmless(&fixture, status);
                if (status == SA_ELF_OK)
                    n_accepted++;
                else
                    n_refused++;
                memcpy(target, saved, sizeof saved);
            }
        g_assert_cmpint(find(&fixture), ==, SA_ELF_OK);
        check_found(&fixture);
    }
    g_test_message("%u refused, %u accepted", n_refused, n_accepted);
    g_assert_cmpuint(n_refused, >, 1000);
    g_assert_cmpuint(n_accepted, >, 1000);
    fixture_clear(&fixture);
}

/* An image whose last segment ends at every byte; behind it nothing can be read. */
static void
test_truncated(void)
{
    const gsize size = ELF_IMAGE_TEXT_END + ELF_IMAGE_DATA_SIZE;
    guint8 *pages = map_nothing(3), *end = pages + 2 * page_size();

    allow(pages + page_size());
    for (const SaElfMachine *const *machine = machines(); *machine; machine++) {
        guint8 *whole = g_malloc(size);
        gsize shortest = 0;

        for (gsize length = 0; length <= size; length++) {
            Fixture fixture = {0};
            SaElfStatus status;

            fixture.kind = (ElfImageKind){.machine = *machine,
                                          .addend = (*machine)->is64,
                                          .absolute = TRUE,
                                          .base = bases[(*machine)->is64 ? 1 : 0],
                                          .data = ELF_IMAGE_TEXT_END};
            elf_image_build(&fixture.image, &fixture.kind, whole);
            elf_image_set_header(&fixture.image, &fixture.kind, 0, PT_LOAD, PF_R | PF_W, 0, length);
            elf_image_set_header(&fixture.image, &fixture.kind, 1, PT_NOTE, PF_R, 0, 0);
            memcpy(end - length, whole, length);
            fixture.memory = (SaElfMemory){end - length, fixture.kind.base, length};
            status = find(&fixture);
            check_harmless(&fixture, status);
            if (status == SA_ELF_OK && shortest == 0)
                shortest = length;
        }
        /* The highest slot is the last thing needed. */
        g_assert_cmpuint(shortest, ==,
                         ELF_IMAGE_TEXT_END + ELF_IMAGE_ALPHA_GOT + ((*machine)->is64 ? 8 : 4));
        g_free(whole);
    }
    munmap(pages, 3 * page_size());
}

/* The image may lie anywhere, and be linked for an address above the one it is loaded at. */
static void
test_negative_base(void)
{
    Fixture fixture;

    fixture_init(&fixture);
    for (const SaElfMachine *const *machine = machines(); *machine; machine++) {
        const guint64 linked = (*machine)->is64 ? 0xffffff0000000000 : 0xfff00000;
        const guint64 mask = (*machine)->is64 ? G_MAXUINT64 : G_MAXUINT32;
        guint64 base;

        build(&fixture, *machine, (*machine)->is64, TRUE);
        base = fixture.kind.base;
        for (guint i = 0; i < 2; i++)
            elf_image_set_header(&fixture.image, &fixture.kind, i, PT_LOAD, PF_R | PF_W,
                                 linked + i * fixture.kind.data,
                                 i ? ELF_IMAGE_DATA_SIZE : ELF_IMAGE_TEXT_END);
        elf_image_set_header(&fixture.image, &fixture.kind, 2, PT_DYNAMIC, PF_R,
                             linked + fixture.kind.data, ELF_IMAGE_ALPHA_PLT);
        for (guint i = 0; i < 2; i++)
            elf_image_set_relocation(&fixture.image, &fixture.kind, ELF_IMAGE_PLT, i,
                                     linked + fixture.kind.data + ELF_IMAGE_ALPHA_PLT, 1,
                                     (*machine)->jump_slot);
        g_assert_true(elf_image_set(&fixture.image, &fixture.kind,
                                    (*machine)->is64 ? DT_RELASZ : DT_RELSZ, 0, FALSE));
        fixture.kind.base = (base - linked) & mask;
        g_assert_cmpint(find(&fixture), ==, SA_ELF_OK);
        g_assert_cmpuint(fixture.imports[0].n_slots, ==, 1);
        g_assert_cmphex(fixture.imports[0].slots[0], ==,
                        base + fixture.kind.data + ELF_IMAGE_ALPHA_PLT);
    }
    fixture_clear(&fixture);
}

static void
test_status_text(void)
{
    for (guint i = 0; i < SA_ELF_N_STATUS; i++)
        g_assert_nonnull(sa_elf_status_text((SaElfStatus)i));
    g_assert_nonnull(sa_elf_status_text(SA_ELF_N_STATUS));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/elf/machines", test_machines);
    g_test_add_func("/elf/find", test_find);
    g_test_add_func("/elf/bind-now", test_bind_now);
    g_test_add_func("/elf/same-slot-twice", test_same_slot_twice);
    g_test_add_func("/elf/no-relocations", test_no_relocations);
    g_test_add_func("/elf/strings-at-the-end", test_strings_at_the_end);
    g_test_add_func("/elf/refusals", test_refusals);
    g_test_add_func("/elf/too-many-segments", test_too_many_segments);
    g_test_add_func("/elf/mutations", test_mutations);
    g_test_add_func("/elf/truncated", test_truncated);
    g_test_add_func("/elf/negative-base", test_negative_base);
    g_test_add_func("/elf/status-text", test_status_text);
    return g_test_run();
}
