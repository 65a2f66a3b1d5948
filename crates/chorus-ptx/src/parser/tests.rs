//! Modules, declarations and operands as the parser reads them.

use super::parse;
use crate::syntax::{Guard, Initial, Operand, Statement};
use crate::types::{ScalarType, Space};

const MODULE: &str = "
.version 8.7
.target sm_90, debug
.address_size 64
.extern .shared .align 16 .b8 room[];
.global .align 8 .u64 table[3] = {1, -2, generic(other)+4};
.extern .func (.param .b32 result) vprintf (.param .b64 a, .param .b64 b);
.visible .entry k(.param .u64 .ptr .global .align 4 k_param_0, .param .f32 k_param_1) .maxntid 32, 1, 1 .maxnreg 64
{
    .reg .pred %p<3>;
    .reg .b32 %r<4>;
    .loc 1 2 3
$top:
    @!%p1 bra.uni $top;
    { .reg .b32 t; ld.global.v2.u32 {%r1, t}, [%rd1+-8]; }
    shfl.sync.up.b32 %r1|%p2, %r2, -1, 0x0, 0f3F800000;
    call.uni (r), vprintf, (a, b);
    mov.u32 %r1, %tid.x;
    ret;
}
";

#[test]
fn a_module_has_its_parts() {
    let module = parse(MODULE).unwrap();
    assert_eq!((module.version.as_str(), module.target.as_str()), ("8.7", "sm_90"));
    let [room, table] = module.variables.as_slice() else { panic!("two variables") };
    assert!(room.unsized_array && room.external && room.space == Some(Space::Shared) && room.align == 16);
    assert_eq!((table.bytes, table.scalar), (24, ScalarType::Unsigned(64)));
    assert_eq!(table.initial[1], Initial::Bits(-2i64 as u64));
    assert!(matches!(&table.initial[2], Initial::Address { name, offset: 4, generic: true, .. } if name == "other"));
    let [printf, kernel] = module.functions.as_slice() else { panic!("two functions") };
    assert!(printf.body.is_none() && printf.returns.len() == 1 && printf.params.len() == 2);
    assert!(kernel.is_entry && kernel.registers_max == Some(64));
    let body = kernel.body.as_ref().unwrap();
    let instructions: Vec<_> = body
        .iter()
        .filter_map(|statement| match statement {
            Statement::Instruction(instruction) => Some(instruction),
            _ => None,
        })
        .collect();
    assert_eq!(instructions[0].guard, Some(Guard { register: "%p1".to_owned(), negated: true }));
    assert_eq!(instructions[1].operands[2], Operand::Integer(-1));
    assert_eq!(instructions[1].operands[4], Operand::Single(0x3f80_0000));
    assert_eq!(instructions[3].operands[1], Operand::Name("%tid.x".to_owned()));
    let Statement::Block(block) = &body[4] else { panic!("a block") };
    let Statement::Instruction(load) = &block[1] else { panic!("a load") };
    assert_eq!(load.operands[1], Operand::Address { base: Some("%rd1".to_owned()), offset: -8 });
}

#[test]
fn mistakes_are_named_with_their_place() {
    for (text, line, part) in [
        (".version x", 1, "a version"),
        (".version 8.0\n.address_size 32", 2, "32 bits"),
        (".entry k() { add.s32 %r1 %r2; }", 1, "`,` or `;`"),
        (".entry k() {\n .reg .f16x2 %h<2>;", 2, "f16x2"),
        (".entry k() {", 1, "`}`"),
        (".global .u32 x[4294967296];", 1, "too large"),
        ("}", 1, "a directive"),
    ] {
        let fault = parse(text).unwrap_err();
        assert!(fault.at.line == line && fault.message.contains(part), "{text}: {fault:?}");
    }
    let deep = format!(".entry k() {{{}", "{".repeat(100_000));
    assert!(parse(&deep).unwrap_err().message.contains("blocks"));
    let nested = format!(".entry k() {{ mov.u32 {}", "(".repeat(100_000));
    assert!(parse(&nested).is_err());
}
