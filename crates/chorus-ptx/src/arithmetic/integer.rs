//! Integer instructions of every width.
//!
//! Each function is named for its instruction and takes the instruction's type as a parameter: `mul_hi::<i32>` is
//! `mul.hi.s32`. Where PTX leaves a result open the function gives what an H200 was seen to give, and says so.

pub(crate) mod word;

/// A type of integer instructions, `.u16` to `.s64`.
pub(crate) trait Integer: Copy + Ord {
    /// The register that holds a value: `u32` up to 32 bits, `u64` for 64.
    type Register: Copy + Eq;
    /// Bits of the type.
    const BITS: u32;
    const ZERO: Self;
    const ONES: Self;
    /// The value of a register, whose bits above the type's width do not count.
    fn read(register: Self::Register) -> Self;
    /// The register of a value; the bits above the type's width are zero.
    fn write(self) -> Self::Register;
    /// The sum, modulo the width.
    fn plus(self, other: Self) -> Self;
    /// The difference, modulo the width.
    fn minus(self, other: Self) -> Self;
    /// The lower half of the product.
    fn times(self, other: Self) -> Self;
    /// The upper half of the product.
    fn times_high(self, other: Self) -> Self;
    /// The quotient, towards zero; the least value divided by −1 is itself. `None` for division by zero.
    fn quotient(self, other: Self) -> Option<Self>;
    /// The remainder, with the sign of the dividend. `None` for division by zero.
    fn remainder(self, other: Self) -> Option<Self>;
    /// The sum, at most and at least what the type holds.
    fn plus_saturating(self, other: Self) -> Self;
    /// The difference, at most and at least what the type holds.
    fn minus_saturating(self, other: Self) -> Self;
    /// `|self − other|`, which an unsigned number of the width holds.
    fn distance(self, other: Self) -> Self;
    /// Shifted left by less than the width.
    fn left(self, amount: u32) -> Self;
    /// Shifted right by less than the width, with copies of the sign.
    fn right(self, amount: u32) -> Self;
    /// The bits as an unsigned number.
    fn bits(self) -> u64;
    /// A value of the lower bits of a number.
    fn of_bits(bits: u64) -> Self;
    /// Whether it is below zero.
    fn is_negative(self) -> bool {
        self < Self::ZERO
    }
}

macro_rules! integer {
    ($($type:ty, $unsigned:ty, $wide:ty, $register:ty;)*) => {$(
        impl Integer for $type {
            type Register = $register;
            const BITS: u32 = <$type>::BITS;
            const ZERO: Self = 0;
            const ONES: Self = !0;
            #[inline]
            fn read(register: $register) -> Self {
                register as $type
            }
            #[inline]
            fn write(self) -> $register {
                <$register>::from(self as $unsigned)
            }
            #[inline]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline]
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            #[inline]
            fn times(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            #[inline]
            fn times_high(self, other: Self) -> Self {
                ((<$wide>::from(self) * <$wide>::from(other)) >> <$type>::BITS) as $type
            }
            #[inline]
            fn quotient(self, other: Self) -> Option<Self> {
                (other != 0).then(|| self.wrapping_div(other))
            }
            #[inline]
            fn remainder(self, other: Self) -> Option<Self> {
                (other != 0).then(|| self.wrapping_rem(other))
            }
            #[inline]
            fn plus_saturating(self, other: Self) -> Self {
                self.saturating_add(other)
            }
            #[inline]
            fn minus_saturating(self, other: Self) -> Self {
                self.saturating_sub(other)
            }
            #[inline]
            fn distance(self, other: Self) -> Self {
                self.abs_diff(other) as $type
            }
            #[inline]
            fn left(self, amount: u32) -> Self {
                self << amount
            }
            #[inline]
            fn right(self, amount: u32) -> Self {
                self >> amount
            }
            #[inline]
            fn bits(self) -> u64 {
                u64::from(self as $unsigned)
            }
            #[inline]
            fn of_bits(bits: u64) -> Self {
                bits as $type
            }
        }
    )*};
}

integer! {
    u16, u16, u32, u32;
    i16, u16, i32, u32;
    u32, u32, u64, u32;
    i32, u32, i64, u32;
    u64, u64, u128, u64;
    i64, u64, i128, u64;
}

/// A type whose products fit another: the operands of `mul.wide`.
pub(crate) trait Narrow: Integer {
    /// The type of twice the width.
    type Wide: Integer;
    /// The number in that type.
    fn widen(self) -> Self::Wide;
}

macro_rules! narrow {
    ($($type:ty => $wide:ty;)*) => {$(
        impl Narrow for $type {
            type Wide = $wide;
            #[inline]
            fn widen(self) -> $wide {
                <$wide>::from(self)
            }
        }
    )*};
}

narrow! {
    u16 => u32;
    i16 => i32;
    u32 => u64;
    i32 => i64;
}

/// A comparison of `setp` and `set` on integers. `lo`, `ls`, `hi` and `hs` are the others on unsigned types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compare {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

#[inline]
pub(crate) fn add<T: Integer>(a: T::Register, b: T::Register) -> T::Register {
    T::read(a).plus(T::read(b)).write()
}

#[inline]
pub(crate) fn sub<T: Integer>(a: T::Register, b: T::Register) -> T::Register {
    T::read(a).minus(T::read(b)).write()
}

#[inline]
pub(crate) fn add_sat<T: Integer>(a: T::Register, b: T::Register) -> T::Register {
    T::read(a).plus_saturating(T::read(b)).write()
}

#[inline]
pub(crate) fn sub_sat<T: Integer>(a: T::Register, b: T::Register) -> T::Register {
    T::read(a).minus_saturating(T::read(b)).write()
}

#[inline]
pub(crate) fn mul_lo<T: Integer>(a: T::Register, b: T::Register) -> T::Register {
    T::read(a).times(T::read(b)).write()
}

#[inline]
pub(crate) fn mul_hi<T: Integer>(a: T::Register, b: T::Register) -> T::Register {
    T::read(a).times_high(T::read(b)).write()
}

#[inline]
pub(crate) fn mul_wide<T: Narrow>(a: T::Register, b: T::Register) -> <T::Wide as Integer>::Register {
    T::read(a).widen().times(T::read(b).widen()).write()
}

#[inline]
pub(crate) fn mad_lo<T: Integer>(a: T::Register, b: T::Register, c: T::Register) -> T::Register {
    T::read(a).times(T::read(b)).plus(T::read(c)).write()
}

#[inline]
pub(crate) fn mad_hi<T: Integer>(a: T::Register, b: T::Register, c: T::Register) -> T::Register {
    T::read(a).times_high(T::read(b)).plus(T::read(c)).write()
}

#[inline]
pub(crate) fn mad_hi_sat<T: Integer>(a: T::Register, b: T::Register, c: T::Register) -> T::Register {
    T::read(a).times_high(T::read(b)).plus_saturating(T::read(c)).write()
}

#[inline]
pub(crate) fn mad_wide<T: Narrow>(
    a: T::Register,
    b: T::Register,
    c: <T::Wide as Integer>::Register,
) -> <T::Wide as Integer>::Register {
    T::read(a).widen().times(T::read(b).widen()).plus(T::Wide::read(c)).write()
}

/// `div`. PTX leaves division by zero open; an H200 gives all ones.
#[inline]
pub(crate) fn div<T: Integer>(a: T::Register, b: T::Register) -> T::Register {
    T::read(a).quotient(T::read(b)).unwrap_or(T::ONES).write()
}

/// `rem`. PTX leaves division by zero open; an H200 gives all ones.
#[inline]
pub(crate) fn rem<T: Integer>(a: T::Register, b: T::Register) -> T::Register {
    T::read(a).remainder(T::read(b)).unwrap_or(T::ONES).write()
}

/// `abs`. The least value is its own.
#[inline]
pub(crate) fn abs<T: Integer>(a: T::Register) -> T::Register {
    T::read(a).distance(T::ZERO).write()
}

#[inline]
pub(crate) fn neg<T: Integer>(a: T::Register) -> T::Register {
    T::ZERO.minus(T::read(a)).write()
}

#[inline]
pub(crate) fn min<T: Integer>(a: T::Register, b: T::Register) -> T::Register {
    T::read(a).min(T::read(b)).write()
}

#[inline]
pub(crate) fn max<T: Integer>(a: T::Register, b: T::Register) -> T::Register {
    T::read(a).max(T::read(b)).write()
}

/// `sad`: the distance of `a` and `b` on top of `c`.
#[inline]
pub(crate) fn sad<T: Integer>(a: T::Register, b: T::Register, c: T::Register) -> T::Register {
    T::read(a).distance(T::read(b)).plus(T::read(c)).write()
}

/// Whether a comparison of `setp` holds.
#[inline]
pub(crate) fn compare<T: Integer>(compare: Compare, a: T::Register, b: T::Register) -> bool {
    let (a, b) = (T::read(a), T::read(b));
    match compare {
        Compare::Eq => a == b,
        Compare::Ne => a != b,
        Compare::Lt => a < b,
        Compare::Le => a <= b,
        Compare::Gt => a > b,
        Compare::Ge => a >= b,
    }
}

#[inline]
pub(crate) fn and<T: Integer>(a: T::Register, b: T::Register) -> T::Register {
    T::of_bits(T::read(a).bits() & T::read(b).bits()).write()
}

#[inline]
pub(crate) fn or<T: Integer>(a: T::Register, b: T::Register) -> T::Register {
    T::of_bits(T::read(a).bits() | T::read(b).bits()).write()
}

#[inline]
pub(crate) fn xor<T: Integer>(a: T::Register, b: T::Register) -> T::Register {
    T::of_bits(T::read(a).bits() ^ T::read(b).bits()).write()
}

#[inline]
pub(crate) fn not<T: Integer>(a: T::Register) -> T::Register {
    T::of_bits(!T::read(a).bits()).write()
}

/// `cnot`: 1 for zero, 0 for everything else.
#[inline]
pub(crate) fn cnot<T: Integer>(a: T::Register) -> T::Register {
    T::of_bits(u64::from(T::read(a) == T::ZERO)).write()
}

/// `shl`. An amount of the width or more leaves nothing.
#[inline]
pub(crate) fn shl<T: Integer>(a: T::Register, amount: u32) -> T::Register {
    if amount < T::BITS { T::read(a).left(amount).write() } else { T::ZERO.write() }
}

/// `shr`. An amount of the width or more leaves nothing of an unsigned value and the sign of a signed one.
#[inline]
pub(crate) fn shr<T: Integer>(a: T::Register, amount: u32) -> T::Register {
    let a = T::read(a);
    match amount < T::BITS {
        true => a.right(amount).write(),
        false if a.is_negative() => T::ONES.write(),
        false => T::ZERO.write(),
    }
}

/// `popc`: the bits that are set.
#[inline]
pub(crate) fn popc<T: Integer>(a: T::Register) -> u32 {
    T::read(a).bits().count_ones()
}

/// `clz`: the zeros above the highest bit that is set.
#[inline]
pub(crate) fn clz<T: Integer>(a: T::Register) -> u32 {
    T::read(a).bits().leading_zeros() - (u64::BITS - T::BITS)
}

/// `brev`: the bits in reverse order.
#[inline]
pub(crate) fn brev<T: Integer>(a: T::Register) -> T::Register {
    T::of_bits(T::read(a).bits().reverse_bits() >> (u64::BITS - T::BITS)).write()
}

/// `bfind`: the position of the highest bit that is not the sign, all ones where there is none. With `shift_amount`,
/// by how much to shift it into the highest position.
#[inline]
pub(crate) fn bfind<T: Integer>(a: T::Register, shift_amount: bool) -> u32 {
    let a = T::read(a);
    let bits = if a.is_negative() { T::of_bits(!a.bits()).bits() } else { a.bits() };
    match bits.checked_ilog2() {
        None => u32::MAX,
        Some(position) if shift_amount => T::BITS - 1 - position,
        Some(position) => position,
    }
}

/// `bfe`: the field of `length` bits at `position`. Bits above the value are zeros or, of a signed type, copies of the
/// field's sign. Position and length are 0 to 255; of others, which
/// PTX leaves open, the lower 8 bits count.
#[inline]
pub(crate) fn bfe<T: Integer>(a: T::Register, position: u32, length: u32) -> T::Register {
    let (position, length) = (position & 0xff, length & 0xff);
    if length == 0 {
        return T::ZERO.write();
    }
    let a = T::read(a);
    // A field that reaches beyond the value is signed by the value's own sign, which `shr` brings in.
    let below = T::read(shr::<T>(a.write(), position));
    if length >= T::BITS {
        return below.write();
    }
    below.left(T::BITS - length).right(T::BITS - length).write()
}

/// `bfi`: `b` with `length` bits at `position` replaced by the lowest of `a`. Position and length are 0 to
/// 255; of others, which PTX leaves open, the lower 8 bits count.
#[inline]
pub(crate) fn bfi<T: Integer>(a: T::Register, b: T::Register, position: u32, length: u32) -> T::Register {
    let (position, length) = (position & 0xff, length & 0xff);
    if position >= T::BITS || length == 0 {
        return T::read(b).write();
    }
    let field = (u64::MAX >> (u64::BITS - length.min(u64::BITS))) << position;
    T::of_bits((T::read(b).bits() & !field) | ((T::read(a).bits() << position) & field)).write()
}

/// `slct` by an integer: `a` where `c` is at least zero.
#[inline]
pub(crate) fn slct<T: Integer>(a: T::Register, b: T::Register, c: u32) -> T::Register {
    if c as i32 >= 0 { a } else { b }
}

/// `add.cc`, `addc` and `addc.cc`: the sum with the carry that came in, and the carry that goes out. The type is an
/// unsigned one.
#[inline]
pub(crate) fn add_carry<T: Integer>(a: T::Register, b: T::Register, carry: bool) -> (T::Register, bool) {
    let sum = u128::from(T::read(a).bits()) + u128::from(T::read(b).bits()) + u128::from(carry);
    (T::of_bits(sum as u64).write(), sum >> T::BITS != 0)
}

/// `sub.cc` (with a carry that is set), `subc` and `subc.cc`: the difference, less one where the carry that came in is
/// clear, and the carry that goes out, clear where the subtraction borrowed. PTX calls the flag a borrow here and
/// leaves open what it is to an addition; an H200 has the one carry, as here.
#[inline]
pub(crate) fn sub_carry<T: Integer>(a: T::Register, b: T::Register, carry: bool) -> (T::Register, bool) {
    add_carry::<T>(a, not::<T>(b), carry)
}

/// `mad.lo.cc`, `madc.lo` and `madc.lo.cc`: the carry is that of the addition.
#[inline]
pub(crate) fn mad_lo_carry<T: Integer>(
    a: T::Register,
    b: T::Register,
    c: T::Register,
    carry: bool,
) -> (T::Register, bool) {
    add_carry::<T>(mul_lo::<T>(a, b), c, carry)
}

/// `mad.hi.cc`, `madc.hi` and `madc.hi.cc`: the carry is that of the addition.
#[inline]
pub(crate) fn mad_hi_carry<T: Integer>(
    a: T::Register,
    b: T::Register,
    c: T::Register,
    carry: bool,
) -> (T::Register, bool) {
    add_carry::<T>(mul_hi::<T>(a, b), c, carry)
}
