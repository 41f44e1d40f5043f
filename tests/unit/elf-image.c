/* SPDX-FileCopyrightText: The spice-accel authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */
#include "elf-image.h"

#include <elf.h>
#include <string.h>

static const char strings[] = "\0alpha\0beta\0gamma\0delta";

static void
put_header(guint8 *at, gboolean is64, guint32 type, guint32 flags, guint64 address, guint64 size)
{
    const Elf64_Phdr wide = {.p_type = type,
                             .p_flags = flags,
                             .p_vaddr = address,
                             .p_filesz = size,
                             .p_memsz = size,
                             .p_align = 8};
    const Elf32_Phdr narrow = {.p_type = type,
                               .p_flags = flags,
                               .p_vaddr = (guint32)address,
                               .p_filesz = (guint32)size,
                               .p_memsz = (guint32)size,
                               .p_align = 4};

    if (is64)
        memcpy(at, &wide, sizeof wide);
    else
        memcpy(at, &narrow, sizeof narrow);
}

void
elf_image_set_header(ElfImage *image, const ElfImageKind *kind, guint i, guint32 type,
                     guint32 flags, guint64 address, guint64 size)
{
    const gsize entry = kind->machine->is64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);

    put_header(image->headers + i * entry, kind->machine->is64, type, flags, address, size);
}

static void
put_symbol(ElfImage *image, const ElfImageKind *kind, guint i, guint32 name, guint16 section)
{
    const Elf64_Sym wide = {.st_name = name, .st_info = 0x12, .st_shndx = section};
    const Elf32_Sym narrow = {.st_name = name, .st_info = 0x12, .st_shndx = section};
    guint8 *table = image->bytes + ELF_IMAGE_SYMBOLS;

    if (kind->machine->is64)
        memcpy(table + i * sizeof wide, &wide, sizeof wide);
    else
        memcpy(table + i * sizeof narrow, &narrow, sizeof narrow);
}

static gsize
relocation_size(const ElfImageKind *kind)
{
    if (kind->machine->is64)
        return kind->addend ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
    return kind->addend ? sizeof(Elf32_Rela) : sizeof(Elf32_Rel);
}

void
elf_image_set_relocation(ElfImage *image, const ElfImageKind *kind, guint table, guint i,
                         guint64 offset, guint32 symbol, guint32 type)
{
    guint8 *at = image->bytes + table + i * relocation_size(kind);
    const Elf64_Rel wide = {offset, ELF64_R_INFO((guint64)symbol, type)};
    const Elf32_Rel narrow = {(guint32)offset, ELF32_R_INFO(symbol, type & 0xff)};

    if (kind->machine->is64)
        memcpy(at, &wide, sizeof wide);
    else
        memcpy(at, &narrow, sizeof narrow);
}

static gsize
dynamic_size(const ElfImageKind *kind)
{
    return kind->machine->is64 ? sizeof(Elf64_Dyn) : sizeof(Elf32_Dyn);
}

static void
put_dynamic(ElfImage *image, const ElfImageKind *kind, guint i, gint64 tag, guint64 value)
{
    guint8 *at = image->bytes + kind->data + i * dynamic_size(kind);
    const Elf64_Dyn wide = {tag, {value}};
    const Elf32_Dyn narrow = {(gint32)tag, {(guint32)value}};

    if (kind->machine->is64)
        memcpy(at, &wide, sizeof wide);
    else
        memcpy(at, &narrow, sizeof narrow);
}

gboolean
elf_image_set(ElfImage *image, const ElfImageKind *kind, gint64 tag, guint64 value,
              gboolean removed)
{
    for (guint i = 0; i * dynamic_size(kind) < ELF_IMAGE_ALPHA_PLT; i++) {
        const guint8 *at = image->bytes + kind->data + i * dynamic_size(kind);
        Elf64_Dyn wide;
        Elf32_Dyn narrow;

        memcpy(&wide, at, sizeof wide);
        memcpy(&narrow, at, sizeof narrow);
        if ((kind->machine->is64 ? wide.d_tag : narrow.d_tag) != tag)
            continue;
        put_dynamic(image, kind, i, removed ? DT_DEBUG : tag, value);
        return TRUE;
    }
    return FALSE;
}

void
elf_image_build(ElfImage *image, const ElfImageKind *kind, guint8 *bytes)
{
    const guint64 delta = kind->absolute ? kind->base : 0;
    const SaElfMachine *machine = kind->machine;
    const gsize relocation = relocation_size(kind);
    const guint32 relative = 8, in_data = 1; /* of R_X86_64_*; any other than the two will do */
    guint n = 0;

    memset(image, 0, sizeof *image);
    image->bytes = bytes;
    memset(bytes, 0, ELF_IMAGE_TEXT_END);
    memset(bytes + kind->data, 0, ELF_IMAGE_DATA_SIZE);

    elf_image_set_header(image, kind, 0, PT_LOAD, PF_R | PF_X, 0, ELF_IMAGE_TEXT_END);
    elf_image_set_header(image, kind, 1, PT_LOAD, PF_R | PF_W, kind->data, ELF_IMAGE_DATA_SIZE);
    elf_image_set_header(image, kind, 2, PT_DYNAMIC, PF_R | PF_W, kind->data, ELF_IMAGE_ALPHA_PLT);
    elf_image_set_header(image, kind, 3, PT_NOTE, PF_R, 0, 0x20);
    image->n_headers = 4;

    memcpy(bytes + ELF_IMAGE_STRINGS, strings, sizeof strings);
    put_symbol(image, kind, 1, 1, SHN_UNDEF);
    put_symbol(image, kind, 2, 7, SHN_UNDEF);
    put_symbol(image, kind, 3, 12, 5);
    put_symbol(image, kind, 4, 18, SHN_UNDEF);

    elf_image_set_relocation(image, kind, ELF_IMAGE_PLT, 0, kind->data + ELF_IMAGE_ALPHA_PLT, 1,
                             machine->jump_slot);
    elf_image_set_relocation(image, kind, ELF_IMAGE_PLT, 1, kind->data + ELF_IMAGE_GAMMA, 3,
                             machine->jump_slot);
    elf_image_set_relocation(image, kind, ELF_IMAGE_OTHER, 0, kind->data, 0, relative);
    elf_image_set_relocation(image, kind, ELF_IMAGE_OTHER, 1, kind->data + ELF_IMAGE_BETA, 2,
                             machine->glob_dat);
    elf_image_set_relocation(image, kind, ELF_IMAGE_OTHER, 2, kind->data + ELF_IMAGE_ALPHA_GOT, 1,
                             machine->glob_dat);
    elf_image_set_relocation(image, kind, ELF_IMAGE_OTHER, 3, kind->data + ELF_IMAGE_DELTA, 4,
                             in_data);

    put_dynamic(image, kind, n++, DT_NEEDED, 1);
    put_dynamic(image, kind, n++, DT_STRTAB, delta + ELF_IMAGE_STRINGS);
    put_dynamic(image, kind, n++, DT_STRSZ, sizeof strings);
    put_dynamic(image, kind, n++, DT_SYMTAB, delta + ELF_IMAGE_SYMBOLS);
    put_dynamic(image, kind, n++, DT_SYMENT, machine->is64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym));
    put_dynamic(image, kind, n++, DT_JMPREL, delta + ELF_IMAGE_PLT);
    put_dynamic(image, kind, n++, DT_PLTRELSZ, 2 * relocation);
    put_dynamic(image, kind, n++, DT_PLTREL, kind->addend ? DT_RELA : DT_REL);
    put_dynamic(image, kind, n++, kind->addend ? DT_RELA : DT_REL, delta + ELF_IMAGE_OTHER);
    put_dynamic(image, kind, n++, kind->addend ? DT_RELASZ : DT_RELSZ, 4 * relocation);
    put_dynamic(image, kind, n++, kind->addend ? DT_RELAENT : DT_RELENT, relocation);
    if (kind->extra_tag)
        put_dynamic(image, kind, n++, kind->extra_tag, kind->extra_value);
}
