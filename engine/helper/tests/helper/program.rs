//! What the program needs from a container: nothing.

use engine_helper::carried::{helper_for, how_to_build};

const PT_INTERP: u32 = 3;

/// The processor that a program is for, and the kinds of its segments.
fn read_elf(program: &[u8]) -> (u16, Vec<u32>) {
    assert_eq!(&program[..5], b"\x7fELF\x02", "a program of 64 bits");
    let u16_at = |at: usize| u16::from_le_bytes(program[at..at + 2].try_into().unwrap());
    let u32_at = |at: usize| u32::from_le_bytes(program[at..at + 4].try_into().unwrap());
    let headers = usize::try_from(u32_at(0x20)).unwrap();
    let (size, n) = (usize::from(u16_at(0x36)), usize::from(u16_at(0x38)));
    (u16_at(0x12), (0..n).map(|i| u32_at(headers + i * size)).collect())
}

#[test]
fn the_program_is_small_and_needs_neither_loader_nor_libraries() {
    for (names, machine) in [(["amd64", "x86_64"], 62), (["arm64", "aarch64"], 183)] {
        for name in names {
            // A machine without the target builds all the rest; its own processor is always there.
            let Some(program) = helper_for(name) else {
                assert!(name != std::env::consts::ARCH, "{}", how_to_build(name));
                continue;
            };
            let (found, segments) = read_elf(program);
            assert_eq!(found, machine, "{name}");
            assert!(!segments.contains(&PT_INTERP), "{name} is linked statically");
            // With musl it is half a megabyte, with glibc, where that is all there is, more than twice as much.
            assert!(program.len() < 1_500_000, "{name} has {} bytes", program.len());
        }
    }
    assert_eq!(helper_for("s390x"), None);
}
