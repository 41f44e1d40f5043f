/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which relocations count: JUMP_SLOT (a call through the PLT) and GLOB_DAT (a call or an address
 * through the GOT). Absolute ones (R_X86_64_64, R_AARCH64_ABS64, R_386_32, R_ARM_ABS32) put the
 * address into a table of the library's own data; changing that would change what the library
 * compares and hands on, leaving it would let calls escape. They are reported, not patched.
 *
 * Pointers of the dynamic section are absolute where the loader relocated them in place (glibc on
 * most machines) and relative to the base elsewhere (musl; glibc where the section is read-only).
 * A pointer that lies inside the image as it stands is absolute: images are loaded far above their
 * own size.
 */
#include "client/elf.h"

#include <elf.h>
#include <string.h>

static const SaElfMachine machines[] = {
    {EM_X86_64, TRUE, R_X86_64_JUMP_SLOT, R_X86_64_GLOB_DAT},
    {EM_AARCH64, TRUE, R_AARCH64_JUMP_SLOT, R_AARCH64_GLOB_DAT},
    {EM_386, FALSE, R_386_JMP_SLOT, R_386_GLOB_DAT},
    {EM_ARM, FALSE, R_ARM_JUMP_SLOT, R_ARM_GLOB_DAT},
};

static const char *const status_text[SA_ELF_N_STATUS] = {
    [SA_ELF_OK] = "understood",
    [SA_ELF_NO_SEGMENTS] = "it has no readable segment",
    [SA_ELF_TOO_MANY_SEGMENTS] = "it has too many segments",
    [SA_ELF_SEGMENT_OUTSIDE] = "a segment lies outside its memory",
    [SA_ELF_NO_DYNAMIC] = "it has no dynamic section",
    [SA_ELF_DYNAMIC_OUTSIDE] = "its dynamic section lies outside",
    [SA_ELF_BAD_ENTRY_SIZE] = "a table has entries of an unknown size",
    [SA_ELF_BAD_RELOCATION_KIND] = "its relocations are of an unknown kind",
    [SA_ELF_BAD_TABLE_SIZE] = "a table ends inside an entry",
    [SA_ELF_NO_SYMBOLS] = "it has no symbol or string table",
    [SA_ELF_STRINGS_OUTSIDE] = "its string table lies outside",
    [SA_ELF_TABLE_OUTSIDE] = "a relocation table lies outside",
    [SA_ELF_SYMBOL_OUTSIDE] = "a symbol lies outside",
    [SA_ELF_NAME_OUTSIDE] = "a symbol's name lies outside",
    [SA_ELF_SLOT_OUTSIDE] = "an import slot lies outside or is not aligned",
    [SA_ELF_TOO_MANY_SLOTS] = "a symbol has too many import slots",
};

const char *
sa_elf_status_text(SaElfStatus status)
{
    return status < SA_ELF_N_STATUS ? status_text[status] : "unknown status";
}

const SaElfMachine *
sa_elf_machine(guint16 machine, gboolean is64)
{
    for (guint i = 0; i < G_N_ELEMENTS(machines); i++)
        if (machines[i].machine == machine && machines[i].is64 == !!is64)
            return &machines[i];
    return NULL;
}

/* Address arithmetic is modulo the word size, as the loader's is: an image linked above where it
 * was loaded has a "negative" base. */
static guint64
add(const SaElf *elf, guint64 a, guint64 b)
{
    return elf->machine->is64 ? a + b : (guint32)(a + b);
}

static gboolean
inside(guint64 address, guint64 size, guint64 start, guint64 length)
{
    return address >= start && size <= length && address - start <= length - size;
}

static const SaElfSegment *
segment_of(const SaElf *elf, guint64 address, guint64 size)
{
    for (guint i = 0; i < elf->n_segments; i++)
        if (inside(address, size, elf->segments[i].address, elf->segments[i].size))
            return &elf->segments[i];
    return NULL;
}

gboolean
sa_elf_contains(const SaElf *elf, guint64 address, guint64 size)
{
    return segment_of(elf, address, size) != NULL;
}

/* The bytes at an address that segment_of() has accepted. */
static const guint8 *
bytes_at(const SaElf *elf, guint64 address)
{
    if (elf->memory.bytes)
        return elf->memory.bytes + (gsize)(address - elf->memory.address);
    return (const guint8 *)(guintptr)address;
}

static gboolean
read_at(const SaElf *elf, guint64 address, void *out, gsize size)
{
    if (!segment_of(elf, address, size))
        return FALSE;
    memcpy(out, bytes_at(elf, address), size);
    return TRUE;
}

/* Widens entry i of an array of ElfN_Phdr. */
static Elf64_Phdr
program_header(const SaElf *elf, const void *headers, guint i)
{
    Elf64_Phdr wide = {0};
    Elf32_Phdr narrow;

    if (elf->machine->is64) {
        memcpy(&wide, (const guint8 *)headers + (gsize)i * sizeof wide, sizeof wide);
        return wide;
    }
    memcpy(&narrow, (const guint8 *)headers + (gsize)i * sizeof narrow, sizeof narrow);
    wide.p_type = narrow.p_type;
    wide.p_flags = narrow.p_flags;
    wide.p_vaddr = narrow.p_vaddr;
    wide.p_memsz = narrow.p_memsz;
    return wide;
}

static gboolean
read_dynamic(const SaElf *elf, guint64 address, gint64 *tag, guint64 *value)
{
    Elf64_Dyn wide;
    Elf32_Dyn narrow;

    if (elf->machine->is64) {
        if (!read_at(elf, address, &wide, sizeof wide))
            return FALSE;
        *tag = wide.d_tag;
        *value = wide.d_un.d_val;
        return TRUE;
    }
    if (!read_at(elf, address, &narrow, sizeof narrow))
        return FALSE;
    *tag = narrow.d_tag;
    *value = narrow.d_un.d_val;
    return TRUE;
}

static gsize
relocation_size(const SaElf *elf, gboolean addend)
{
    if (elf->machine->is64)
        return addend ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
    return addend ? sizeof(Elf32_Rela) : sizeof(Elf32_Rel);
}

static guint64
resolve(const SaElf *elf, guint64 pointer)
{
    return sa_elf_contains(elf, pointer, 1) ? pointer : add(elf, elf->base, pointer);
}

static SaElfStatus
parse_dynamic(SaElf *elf, guint64 address, guint64 size)
{
    enum { PLT, RELA, REL };
    const gsize entry = elf->machine->is64 ? sizeof(Elf64_Dyn) : sizeof(Elf32_Dyn);
    guint64 symbol_entry = 0, rela_entry = 0, rel_entry = 0, plt_kind = DT_NULL;
    gboolean have_symbols = FALSE, have_strings = FALSE, have[3] = {FALSE};

    elf->tables[RELA].addend = TRUE;
    for (guint64 at = 0; at + entry <= size; at += entry) {
        gint64 tag;
        guint64 value;

        if (!read_dynamic(elf, add(elf, address, at), &tag, &value))
            return SA_ELF_DYNAMIC_OUTSIDE;
        if (tag == DT_NULL)
            break;
        switch (tag) {
        case DT_SYMTAB:
            elf->symbols = resolve(elf, value);
            have_symbols = TRUE;
            break;
        case DT_SYMENT:
            symbol_entry = value;
            break;
        case DT_STRTAB:
            elf->strings = resolve(elf, value);
            have_strings = TRUE;
            break;
        case DT_STRSZ:
            elf->strings_size = value;
            break;
        case DT_JMPREL:
            elf->tables[PLT].address = resolve(elf, value);
            have[PLT] = TRUE;
            break;
        case DT_PLTRELSZ:
            elf->tables[PLT].size = value;
            break;
        case DT_PLTREL:
            plt_kind = value;
            break;
        case DT_RELA:
            elf->tables[RELA].address = resolve(elf, value);
            have[RELA] = TRUE;
            break;
        case DT_RELASZ:
            elf->tables[RELA].size = value;
            break;
        case DT_RELAENT:
            rela_entry = value;
            break;
        case DT_REL:
            elf->tables[REL].address = resolve(elf, value);
            have[REL] = TRUE;
            break;
        case DT_RELSZ:
            elf->tables[REL].size = value;
            break;
        case DT_RELENT:
            rel_entry = value;
            break;
        case DT_BIND_NOW:
            elf->bind_now = TRUE;
            break;
        case DT_FLAGS:
            elf->bind_now |= (value & DF_BIND_NOW) != 0;
            break;
        case DT_FLAGS_1:
            elf->bind_now |= (value & DF_1_NOW) != 0;
            break;
        default:
            break;
        }
    }

    if (!have_symbols || !have_strings)
        return SA_ELF_NO_SYMBOLS;
    if ((symbol_entry &&
         symbol_entry != (elf->machine->is64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym))) ||
        (rela_entry && rela_entry != relocation_size(elf, TRUE)) ||
        (rel_entry && rel_entry != relocation_size(elf, FALSE)))
        return SA_ELF_BAD_ENTRY_SIZE;
    if (!sa_elf_contains(elf, elf->strings, elf->strings_size))
        return SA_ELF_STRINGS_OUTSIDE;
    if (have[PLT] && elf->tables[PLT].size > 0 && plt_kind != DT_RELA && plt_kind != DT_REL)
        return SA_ELF_BAD_RELOCATION_KIND;
    elf->tables[PLT].addend = plt_kind == DT_RELA;

    for (guint i = 0; i < G_N_ELEMENTS(have); i++) {
        SaElfTable *table = &elf->tables[i];

        if (!have[i])
            table->size = 0;
        if (table->size == 0)
            continue;
        if (table->size % relocation_size(elf, table->addend) != 0)
            return SA_ELF_BAD_TABLE_SIZE;
        if (!sa_elf_contains(elf, table->address, table->size))
            return SA_ELF_TABLE_OUTSIDE;
    }
    return SA_ELF_OK;
}

SaElfStatus
sa_elf_init(SaElf *elf, const SaElfMachine *machine, guint64 base, const void *program_headers,
            guint n, const SaElfMemory *memory)
{
    gboolean have_dynamic = FALSE;
    guint64 dynamic = 0, dynamic_size = 0;

    memset(elf, 0, sizeof *elf);
    elf->machine = machine;
    elf->base = base;
    if (memory)
        elf->memory = *memory;

    for (guint i = 0; i < n; i++) {
        const Elf64_Phdr header = program_header(elf, program_headers, i);
        const guint64 address = add(elf, base, header.p_vaddr);

        if (header.p_type == PT_DYNAMIC) {
            dynamic = address;
            dynamic_size = header.p_memsz;
            have_dynamic = TRUE;
        }
        if (header.p_type != PT_LOAD || !(header.p_flags & PF_R) || header.p_memsz == 0)
            continue;
        if (memory && !inside(address, header.p_memsz, memory->address, memory->size))
            return SA_ELF_SEGMENT_OUTSIDE;
        if (address + header.p_memsz < address ||
            (!machine->is64 && address + header.p_memsz > G_MAXUINT32))
            return SA_ELF_SEGMENT_OUTSIDE;
        if (elf->n_segments == SA_ELF_MAX_SEGMENTS)
            return SA_ELF_TOO_MANY_SEGMENTS;
        elf->segments[elf->n_segments++] =
            (SaElfSegment){address, header.p_memsz, (header.p_flags & PF_W) != 0};
    }
    if (elf->n_segments == 0)
        return SA_ELF_NO_SEGMENTS;
    if (!have_dynamic)
        return SA_ELF_NO_DYNAMIC;
    if (!sa_elf_contains(elf, dynamic, dynamic_size))
        return SA_ELF_DYNAMIC_OUTSIDE;
    return parse_dynamic(elf, dynamic, dynamic_size);
}

typedef struct Relocation {
    guint64 slot;
    guint32 type, symbol;
} Relocation;

static Relocation
read_relocation(const SaElf *elf, guint64 address)
{
    /* RELA is REL with the addend behind it. */
    Relocation relocation;
    Elf64_Rel wide;
    Elf32_Rel narrow;

    if (elf->machine->is64) {
        memcpy(&wide, bytes_at(elf, address), sizeof wide);
        relocation.slot = add(elf, elf->base, wide.r_offset);
        relocation.type = ELF64_R_TYPE(wide.r_info);
        relocation.symbol = ELF64_R_SYM(wide.r_info);
    } else {
        memcpy(&narrow, bytes_at(elf, address), sizeof narrow);
        relocation.slot = add(elf, elf->base, narrow.r_offset);
        relocation.type = ELF32_R_TYPE(narrow.r_info);
        relocation.symbol = ELF32_R_SYM(narrow.r_info);
    }
    return relocation;
}

static gboolean
read_symbol(const SaElf *elf, guint32 index, guint32 *name, gboolean *undefined)
{
    Elf64_Sym wide;
    Elf32_Sym narrow;

    if (elf->machine->is64) {
        if (!read_at(elf, add(elf, elf->symbols, (guint64)index * sizeof wide), &wide, sizeof wide))
            return FALSE;
        *name = wide.st_name;
        *undefined = wide.st_shndx == SHN_UNDEF;
        return TRUE;
    }
    /* 2^24 symbols of 16 bytes stay within 32 bits; the sum is taken modulo 2^32. */
    if (!read_at(elf, add(elf, elf->symbols, (guint64)index * sizeof narrow), &narrow,
                 sizeof narrow))
        return FALSE;
    *name = narrow.st_name;
    *undefined = narrow.st_shndx == SHN_UNDEF;
    return TRUE;
}

/* name lies inside the string table. */
static gboolean
name_is(const SaElf *elf, guint32 name, const char *symbol)
{
    const gsize size = strlen(symbol) + 1;

    return size <= elf->strings_size - name &&
           memcmp(bytes_at(elf, elf->strings + name), symbol, size) == 0;
}

static SaElfStatus
add_slot(const SaElf *elf, SaElfImport *import, guint64 slot)
{
    const guint word = elf->machine->is64 ? 8 : 4;
    const SaElfSegment *segment = segment_of(elf, slot, word);

    if (!segment || !segment->writable || slot % word != 0)
        return SA_ELF_SLOT_OUTSIDE;
    /* Some linkers count the PLT's relocations into DT_RELASZ too. */
    for (guint i = 0; i < import->n_slots; i++)
        if (import->slots[i] == slot)
            return SA_ELF_OK;
    if (import->n_slots == SA_ELF_MAX_SLOTS)
        return SA_ELF_TOO_MANY_SLOTS;
    import->slots[import->n_slots++] = slot;
    return SA_ELF_OK;
}

static SaElfStatus
find_in_table(const SaElf *elf, const SaElfTable *table, SaElfImport *imports, guint n)
{
    const gsize entry = relocation_size(elf, table->addend);

    for (guint64 at = 0; at < table->size; at += entry) {
        const Relocation relocation = read_relocation(elf, table->address + at);
        guint32 name;
        gboolean undefined;

        if (relocation.symbol == STN_UNDEF)
            continue;
        if (!read_symbol(elf, relocation.symbol, &name, &undefined))
            return SA_ELF_SYMBOL_OUTSIDE;
        if (name >= elf->strings_size)
            return SA_ELF_NAME_OUTSIDE;
        if (!undefined)
            continue;
        for (guint i = 0; i < n; i++) {
            SaElfStatus status;

            if (!name_is(elf, name, imports[i].symbol))
                continue;
            if (relocation.type != elf->machine->jump_slot &&
                relocation.type != elf->machine->glob_dat) {
                imports[i].in_data = TRUE;
                continue;
            }
            status = add_slot(elf, &imports[i], relocation.slot);
            if (status != SA_ELF_OK)
                return status;
        }
    }
    return SA_ELF_OK;
}

SaElfStatus
sa_elf_find(const SaElf *elf, SaElfImport *imports, guint n)
{
    for (guint i = 0; i < n; i++) {
        imports[i].n_slots = 0;
        imports[i].in_data = FALSE;
    }
    for (guint i = 0; i < G_N_ELEMENTS(elf->tables); i++) {
        const SaElfStatus status = find_in_table(elf, &elf->tables[i], imports, n);

        if (status != SA_ELF_OK)
            return status;
    }
    return SA_ELF_OK;
}
