//! Instructions on words of 32 bits only: bytes and halves within them, masks, funnel shifts, products of 24 bits.

/// The treatment of positions and amounts of 32 and more: `.clamp` or `.wrap`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Overrun {
    /// They count as 32.
    Clamp,
    /// Their lower five bits count.
    Wrap,
}

/// Which part of a product, or of the second operand of `dp2a`: `.lo` or `.hi`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Half {
    Low,
    High,
}

/// How `prmt` reads its selector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Permute {
    /// A selector of four bits for each byte.
    Selectors,
    /// `.f4e`: four bytes upwards from the selected one.
    Forward,
    /// `.b4e`: four bytes downwards from the selected one.
    Backward,
    /// `.rc8`: copies of a byte.
    Byte,
    /// `.ecl`: bytes below the selected one become it.
    ClampLow,
    /// `.ecr`: bytes above the selected one become it.
    ClampHigh,
    /// `.rc16`: copies of a half.
    Half,
}

/// `lop3`: for each bit, the entry of the table that the bits of `a`, `b` and `c` select, `a`'s the highest.
#[inline]
pub(crate) fn lop3(a: u32, b: u32, c: u32, table: u8) -> u32 {
    (0..8).filter(|entry| table >> entry & 1 != 0).fold(0, |result, entry| {
        let select = |word: u32, bit: u32| if entry >> bit & 1 != 0 { word } else { !word };
        result | (select(a, 2) & select(b, 1) & select(c, 0))
    })
}

/// `prmt`: four of the eight bytes of `a` (the lower four) and `b`.
#[inline]
pub(crate) fn prmt(a: u32, b: u32, selector: u32, mode: Permute) -> u32 {
    let bytes = (u64::from(b) << 32 | u64::from(a)).to_le_bytes();
    let first = selector & 3;
    u32::from_le_bytes([0, 1, 2, 3].map(|place: u32| {
        let byte = match mode {
            Permute::Selectors => {
                let nibble = selector >> (4 * place);
                let byte = bytes[(nibble & 7) as usize];
                // The highest bit of a selector asks for eight copies of the byte's sign.
                return if nibble & 8 != 0 { ((byte as i8) >> 7) as u8 } else { byte };
            }
            Permute::Forward => first + place,
            Permute::Backward => first.wrapping_sub(place) & 7,
            Permute::Byte => first,
            Permute::ClampLow => first.max(place),
            Permute::ClampHigh => first.min(place),
            Permute::Half => (first & 1) * 2 + (place & 1),
        };
        bytes[byte as usize]
    }))
}

/// `shf.l`: the upper word of `b` and `a` (the lower one) shifted left.
#[inline]
pub(crate) fn shf_left(a: u32, b: u32, amount: u32, overrun: Overrun) -> u32 {
    ((u64::from(b) << 32 | u64::from(a)) << bounded(amount, overrun) >> 32) as u32
}

/// `shf.r`: the lower word of `b` and `a` (the lower one) shifted right.
#[inline]
pub(crate) fn shf_right(a: u32, b: u32, amount: u32, overrun: Overrun) -> u32 {
    ((u64::from(b) << 32 | u64::from(a)) >> bounded(amount, overrun)) as u32
}

#[inline]
fn bounded(amount: u32, overrun: Overrun) -> u32 {
    match overrun {
        Overrun::Clamp => amount.min(32),
        Overrun::Wrap => amount & 31,
    }
}

/// The lower bits of a word set, as many as told: 64 at most.
#[inline]
fn lower(bits: u32) -> u32 {
    ((1_u128 << bits) - 1) as u32
}

/// `bmsk`: as many bits set as `width` says, from `position` on.
#[inline]
pub(crate) fn bmsk(position: u32, width: u32, overrun: Overrun) -> u32 {
    let (position, width) = (bounded(position, overrun), bounded(width, overrun));
    lower(position + width) & !lower(position)
}

/// `szext.u32`: the lower bits that `width` tells, the others zero.
#[inline]
pub(crate) fn szext_unsigned(a: u32, width: u32, overrun: Overrun) -> u32 {
    a & lower(bounded(width, overrun))
}

/// `szext.s32`: the lower bits that `width` tells, the others copies of the highest of them.
#[inline]
pub(crate) fn szext_signed(a: u32, width: u32, overrun: Overrun) -> u32 {
    match bounded(width, overrun) {
        0 => 0,
        width => ((a << (32 - width)) as i32 >> (32 - width)) as u32,
    }
}

/// `fns`: the position of the bit that is the `|offset|`-th set one from `base` on, upwards for positive offsets and
/// downwards for negative ones; offset 0 asks for the bit at `base` itself. All ones where there is none, and for a
/// `base` above 31, which PTX leaves open.
#[inline]
pub(crate) fn fns(mask: u32, base: u32, offset: u32) -> u32 {
    let offset = offset as i32;
    let is_set = |&position: &u32| mask >> position & 1 != 0;
    let skipped = offset.unsigned_abs().saturating_sub(1) as usize;
    let found = match offset {
        _ if base > 31 => None,
        0 => Some(base).filter(is_set),
        1.. => (base..32).filter(is_set).nth(skipped),
        ..0 => (0..=base).rev().filter(is_set).nth(skipped),
    };
    found.unwrap_or(u32::MAX)
}

/// `mul24`: of the product of the lower 24 bits, the bits 0 to 31 or 16 to 47.
#[inline]
pub(crate) fn mul24(a: u32, b: u32, signed: bool, half: Half) -> u32 {
    let product = match signed {
        true => i64::from((a << 8) as i32 >> 8) * i64::from((b << 8) as i32 >> 8),
        false => i64::from(a & 0xff_ffff) * i64::from(b & 0xff_ffff),
    };
    match half {
        Half::Low => product as u32,
        Half::High => (product >> 16) as u32,
    }
}

#[inline]
pub(crate) fn mad24(a: u32, b: u32, c: u32, signed: bool, half: Half) -> u32 {
    mul24(a, b, signed, half).wrapping_add(c)
}

#[inline]
pub(crate) fn mad24_hi_sat(a: u32, b: u32, c: u32) -> u32 {
    (mul24(a, b, true, Half::High) as i32).saturating_add(c as i32) as u32
}

#[inline]
fn part(word: u32, bits: u32, index: u32, signed: bool) -> i32 {
    let top = word << (32 - bits * (index + 1));
    if signed { top as i32 >> (32 - bits) } else { (top >> (32 - bits)) as i32 }
}

/// `dp4a`: `c` and the products of the four bytes of `a` and `b`, each signed or not.
#[inline]
pub(crate) fn dp4a(a: u32, b: u32, c: u32, a_signed: bool, b_signed: bool) -> u32 {
    (0..4).fold(c, |sum, byte| sum.wrapping_add((part(a, 8, byte, a_signed) * part(b, 8, byte, b_signed)) as u32))
}

/// `dp2a`: `c` and the products of the two halves of `a` and two bytes of `b`, each signed or not.
#[inline]
pub(crate) fn dp2a(a: u32, b: u32, c: u32, a_signed: bool, b_signed: bool, half: Half) -> u32 {
    let first = match half {
        Half::Low => 0,
        Half::High => 2,
    };
    (0..2).fold(c, |sum, index| {
        sum.wrapping_add((part(a, 16, index, a_signed) * part(b, 8, first + index, b_signed)) as u32)
    })
}
