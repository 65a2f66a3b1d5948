//! Classes of instructions, by which machines know what they cost.

use chorus_kernel::InstructionClass;

use crate::code::{Action, Load};
use crate::types::Space;

/// The class of an opcode with its suffixes.
pub(super) fn of_opcode(opcode: &[String]) -> InstructionClass {
    let (name, suffixes) = (opcode[0].as_str(), &opcode[1..]);
    let has = |suffix: &str| suffixes.iter().any(|other| other == suffix);
    let is_long = has("s64") || has("u64") || has("b64");
    let is_float = |suffix: &str| suffix.starts_with('f') && suffix[1..].bytes().all(|byte| byte.is_ascii_digit());
    let of_floats = || suffixes.iter().any(|suffix| is_float(suffix) && suffix.len() > 1);
    match name {
        "mov" | "cvta" | "isspacep" | "activemask" => InstructionClass::Move,
        "cvt" if of_floats() => InstructionClass::Convert,
        // Of a change between integers, a machine that has all widths in the same registers makes nothing.
        "cvt" => InstructionClass::Move,
        "setp" | "set" | "selp" | "slct" | "testp" => InstructionClass::Compare,
        "bra" | "exit" | "ret" | "call" | "trap" | "brkpt" | "pmevent" => InstructionClass::Branch,
        "shfl" => InstructionClass::Shuffle,
        "vote" | "elect" => InstructionClass::Vote,
        "rcp" | "sqrt" | "rsqrt" | "sin" | "cos" | "lg2" | "ex2" | "tanh" | "popc" | "clz" | "bfind" | "brev"
        | "fns" => InstructionClass::Special,
        "div" | "rem" => InstructionClass::Division,
        _ if has("f64") => InstructionClass::Double,
        _ if of_floats() => InstructionClass::Float,
        "mul" | "mad" if is_long && !has("wide") => InstructionClass::WideProduct,
        _ if is_long || has("wide") => InstructionClass::Wide,
        _ => InstructionClass::Integer,
    }
}

/// The class of an instruction whose opcode is of class `opcode`.
pub(super) fn of_action(action: &Action, opcode: InstructionClass) -> InstructionClass {
    match action {
        Action::Load(Load { address, .. }) if matches!(address.space, Space::Param | Space::Const) => {
            InstructionClass::Move
        }
        Action::Load(_)
        | Action::Store(_)
        | Action::Atomic(_)
        | Action::Fence(..)
        | Action::Barrier(_)
        | Action::Look { .. } => InstructionClass::Access,
        Action::Branch { .. } | Action::Exit | Action::Assert { .. } => InstructionClass::Branch,
        Action::Print(_) | Action::Nothing => InstructionClass::Move,
        Action::Compute(_) | Action::Sync { .. } => opcode,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_and_names_of_opcodes_give_their_classes() {
        let class = |name: &str| of_opcode(&name.split('.').map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(class("add.s32"), InstructionClass::Integer);
        assert_eq!(class("add.s64"), InstructionClass::Wide);
        assert_eq!(class("mul.wide.u32"), InstructionClass::Wide);
        assert_eq!(class("mad.lo.s64"), InstructionClass::WideProduct);
        assert_eq!(class("fma.rn.f32"), InstructionClass::Float);
        assert_eq!(class("fma.rn.f64"), InstructionClass::Double);
        assert_eq!(class("cvt.u64.u32"), InstructionClass::Move);
        assert_eq!(class("cvt.rn.f32.u32"), InstructionClass::Convert);
        assert_eq!(class("setp.ge.f64"), InstructionClass::Compare);
        assert_eq!(class("ex2.approx.ftz.f32"), InstructionClass::Special);
        assert_eq!(class("shfl.sync.down.b32"), InstructionClass::Shuffle);
    }
}
