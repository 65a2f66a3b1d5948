//! Does a litmus test that is written as a kernel in PTX have the outcomes of its twin in the suite?
//!
//! Each block of the kernel is a thread of the test. The operations that its wavefront issues take the place of the
//! twin's, and both are explored.

use std::sync::Arc;

use chorus_kernel::{
    Buf, HostMemory, Kernel, LocalData, MemoryOp, MemoryOpKind, Operation, SpareStates, WaveId, WaveMachine, WaveTask,
};
use chorus_litmus::test::{FenceKind, Instruction, LocationId, Modify, Operand, Register};
use chorus_protocol::access::{AtomicOp, Order};
use chorus_protocol::registry::find as protocol;
use chorus_ptx::{Device, GLOBAL_MEMORY, Launch, Memory, Module};
use chorus_verify::config::Stores;
use chorus_verify::litmus::{SuiteTest, find, run_litmus};

const HEAD: &str = "
.version 8.0
.target sm_90
.address_size 64
.visible .entry test(.param .u64 x_param, .param .u64 y_param, .param .u64 out_param)
{
    .reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [x_param];
    ld.param.u64 %rd2, [y_param];
    ld.param.u64 %rd3, [out_param];
    mov.u32 %r0, %ctaid.x;
    setp.eq.u32 %p1, %r0, 1;
    @%p1 bra B1;
    setp.eq.u32 %p2, %r0, 2;
    @%p2 bra B2;
";

/// The twins: a test of the suite, and the code of its threads in PTX. `x` and `y` are `[%rd1]` and `[%rd2]`.
const TWINS: [(&str, [&str; 3]); 7] = [
    (
        "MP",
        [
            "st.relaxed.gpu.global.u32 [%rd1], 1; st.relaxed.gpu.global.u32 [%rd2], 1;",
            "ld.relaxed.gpu.global.u32 %r1, [%rd2]; ld.relaxed.gpu.global.u32 %r2, [%rd1];",
            "",
        ],
    ),
    (
        "MP+ra",
        [
            "st.relaxed.gpu.u32 [%rd1], 1; st.release.gpu.u32 [%rd2], 1;",
            "ld.acquire.gpu.u32 %r1, [%rd2]; ld.relaxed.gpu.u32 %r2, [%rd1];",
            "",
        ],
    ),
    (
        "MP+fences",
        [
            "st.relaxed.gpu.global.u32 [%rd1], 1; membar.gl; st.relaxed.gpu.global.u32 [%rd2], 1;",
            "ld.relaxed.gpu.global.u32 %r1, [%rd2]; membar.gl; ld.relaxed.gpu.global.u32 %r2, [%rd1];",
            "",
        ],
    ),
    (
        "SB+fences",
        [
            "st.relaxed.gpu.global.u32 [%rd1], 1; fence.sc.gpu; ld.relaxed.gpu.global.u32 %r1, [%rd2];",
            "st.relaxed.gpu.global.u32 [%rd2], 1; fence.sc.gpu; ld.relaxed.gpu.global.u32 %r1, [%rd1];",
            "",
        ],
    ),
    (
        "MP+atomics+ra",
        [
            "st.relaxed.gpu.global.u32 [%rd1], 1; atom.release.gpu.global.add.u32 %r1, [%rd2], 1;",
            "atom.acquire.gpu.global.add.u32 %r1, [%rd2], 0; ld.relaxed.gpu.global.u32 %r2, [%rd1];",
            "",
        ],
    ),
    (
        "CoRR",
        [
            "st.relaxed.gpu.global.u32 [%rd1], 1;",
            "ld.relaxed.gpu.global.u32 %r1, [%rd1]; ld.relaxed.gpu.global.u32 %r2, [%rd1];",
            "",
        ],
    ),
    (
        "WRC+ra",
        [
            "st.relaxed.gpu.global.u32 [%rd1], 1;",
            "ld.acquire.gpu.global.u32 %r1, [%rd1]; st.release.gpu.global.u32 [%rd2], 1;",
            "ld.acquire.gpu.global.u32 %r1, [%rd2]; ld.relaxed.gpu.global.u32 %r2, [%rd1];",
        ],
    ),
];

/// The whole kernel. Every thread writes down what it has read, so that no load is left out.
fn module(threads: [&str; 3]) -> Module {
    let results = "st.global.u32 [%rd3], %r1; st.global.u32 [%rd3+4], %r2; ret;";
    let [first, second, third] = threads;
    let text = format!("{HEAD}\n{first} {results}\nB1:\n{second} {results}\nB2:\n{third} {results}\n}}\n");
    Module::parse("test.ptx", &text).unwrap_or_else(|error| panic!("{error}"))
}

fn kernel(module: &Module, [x, y, out]: [Buf<u32>; 3]) -> Kernel {
    let address = |buffer: Buf<u32>| GLOBAL_MEMORY + u64::from(buffer.start()) * 4;
    let buffers = [x, y, out];
    let launch = Launch {
        grid: [3, 1, 1],
        block: [1, 1, 1],
        dynamic_shared_bytes: 0,
        arguments: buffers.iter().map(|&buffer| address(buffer).to_le_bytes().to_vec()).collect(),
        device: Device::Gpu,
    };
    let ranges = buffers.iter().map(|&buffer| address(buffer)..address(buffer) + buffer.len() as u64 * 4).collect();
    let memory = Memory { buffers: Arc::new(ranges), variables: address(out) };
    module.entry("test").expect("it is there").kernel(&launch, &memory).expect("arguments fit").0
}

/// The accesses and fences of a thread, whose loads all read 0.
fn code(kernel: &Kernel, thread: u32, locations: [Buf<u32>; 2]) -> Vec<Instruction> {
    let id = WaveId { work_group: thread, wave: 0, waves_per_group: 1, work_groups: 3, gpu: 0, gpus: 1 };
    let mut spare = SpareStates::default();
    let mut task = WaveTask::start(kernel, id, LocalData::of(kernel), &WaveMachine::without_time(), &mut spare);
    let mut registers = (0..).map(Register);
    let mut code = Vec::new();
    let mut releases = false;
    loop {
        let front = task.state().borrow().front();
        let Some(operation) = front else {
            if task.poll() && task.state().borrow().front().is_none() {
                return code;
            }
            continue;
        };
        let mut state = task.state().borrow_mut();
        state.pop();
        match operation {
            Operation::Memory(slot) => {
                let op = state.memory_op_mut(slot);
                code.extend(instruction(op, locations, &mut registers));
                if std::mem::take(&mut releases) {
                    strengthen(code.last_mut(), Order::Release);
                }
                op.data = [0; chorus_kernel::LANES];
                state.complete_memory(slot);
            }
            Operation::Fence { order, scope } => {
                match order {
                    Order::AcqRel => code.push(Instruction::Fence { kind: FenceKind::Sc, scope }),
                    Order::Acquire => strengthen(code.last_mut(), order),
                    _ => releases = true,
                }
                state.pass();
            }
            other @ (Operation::Barrier | Operation::BarrierFence | Operation::Look) => panic!("no test has {other:?}"),
            Operation::Alu(_) | Operation::Lds(_) | Operation::Chain { .. } | Operation::Banks(_) => {}
        }
    }
}

/// A fence that only acquires or releases stands for the order of the access next to it. Loads and stores have that
/// order themselves.
fn strengthen(access: Option<&mut Instruction>, fence: Order) {
    if let Some(Instruction::Atomic { order, .. }) = access {
        *order = if *order == Order::Relaxed { fence } else { Order::AcqRel };
    }
}

/// An access of the test's own locations. What threads write down is left out.
fn instruction(
    op: &MemoryOp,
    locations: [Buf<u32>; 2],
    registers: &mut impl Iterator<Item = Register>,
) -> Option<Instruction> {
    let (order, scope, joined) = (op.order, op.scope, false);
    let at = LocationId(locations.iter().position(|buffer| buffer.start() == op.word(0))? as u8);
    let value = Operand::Constant(op.data[0]);
    Some(match op.kind {
        MemoryOpKind::Load => Instruction::Load { to: registers.next()?, at, order, scope, joined },
        MemoryOpKind::Store => Instruction::Store { at, value, order, scope, joined },
        MemoryOpKind::Atomic(AtomicOp::Add) => {
            Instruction::Atomic { to: registers.next(), at, modify: Modify::Add(value), order, scope, joined }
        }
        MemoryOpKind::Atomic(other) => panic!("no test has {other:?}"),
    })
}

#[test]
fn a_litmus_test_in_ptx_has_the_outcomes_of_its_twin() {
    for (name, threads) in TWINS {
        let mut memory = HostMemory::default();
        let buffers = [1, 1, 2].map(|len| memory.alloc::<u32>(len));
        let kernel = kernel(&module(threads), buffers);
        let twin = find(name).expect("the suite has it");
        let mut test = twin.test.clone();
        for (thread, block) in test.program.threads.iter_mut().zip(0..) {
            thread.code = code(&kernel, block, [buffers[0], buffers[1]]);
            assert!(!thread.code.is_empty(), "{name}");
        }
        for protocol_name in ["gpu-vi", "tc-weak", "mesi", "hmg"] {
            let protocol = protocol(protocol_name).expect("it is registered");
            let explored = |test: &SuiteTest| run_litmus(protocol, None, test, Stores::Posted).expect("it fits");
            let (ptx, litmus) = (explored(&SuiteTest::new(test.clone())), explored(&twin));
            assert!(ptx.reached.len() > 1, "{name} under {protocol_name}");
            assert_eq!(ptx.reached, litmus.reached, "{name} under {protocol_name}");
        }
    }
}
