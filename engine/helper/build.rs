//! Builds the helper for the systems that run in containers, so that `cargo build` alone is enough.
//!
//! Cargo cannot make one program a part of another for a second target. But the helper uses the standard
//! library only, so two calls of the compiler do: one for the library, one for the program. If a target is
//! not installed, the file is empty, and the engine says what is missing when it is needed.

use std::{
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// How a program is linked that needs nothing from the system it runs on.
struct Target {
    name: &'static str,
    flags: &'static [&'static str],
}

/// The linker comes with the compiler, so no other one is needed, whatever machine this is.
const MUSL: &[&str] = &[
    "-Clinker=rust-lld",
    "-Clinker-flavor=ld.lld",
    "-Clink-self-contained=yes",
    "-Ctarget-feature=+crt-static",
    "-Crelocation-model=static",
];

const X86_64: &[Target] = &[
    Target { name: "x86_64-unknown-linux-musl", flags: MUSL },
    // Bigger, but it needs nothing that a Linux machine with a C compiler lacks.
    Target {
        name: "x86_64-unknown-linux-gnu",
        flags: &["-Ctarget-feature=+crt-static", "-Crelocation-model=static"],
    },
];
const AARCH64: &[Target] = &[Target { name: "aarch64-unknown-linux-musl", flags: MUSL }];

fn main() {
    println!("cargo::rerun-if-changed=src");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(carries_helper)");
    println!("cargo::rustc-cfg=carries_helper");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    for (architecture, targets) in [("x86_64", X86_64), ("aarch64", AARCH64)] {
        let program = out.join(format!("engine-helper-{architecture}"));
        let installed: Vec<_> = targets.iter().filter(|it| is_installed(it)).collect();
        if installed.is_empty() {
            let target = targets[0].name;
            println!(
                "cargo::warning=the engine will carry no helper for {architecture} containers: \
                 `rustup target add {target}` is missing"
            );
            fs::write(&program, []).expect("cargo's directory can be written");
        } else if !installed.iter().any(|it| build(it, &out.join(it.name), &program)) {
            println!("cargo::error=the helper for {architecture} containers cannot be built");
        }
    }
}

/// Builds the program for a target.
fn build(target: &Target, out: &Path, program: &Path) -> bool {
    fs::create_dir_all(out).expect("cargo's directory can be written");
    let library = out.join("libengine_helper.rlib");
    let mut depends_on = OsString::from("engine_helper=");
    depends_on.push(&library);
    compile(target, "lib.rs", &library, |it| {
        it.args(["--crate-type=rlib", "--crate-name=engine_helper"])
    }) && compile(target, "main.rs", program, |it| {
        it.args(["--crate-name=engine_helper_program", "--extern"]).arg(&depends_on)
    })
}

fn is_installed(target: &Target) -> bool {
    let output = rustc().args(["--print=target-libdir", "--target", target.name]).output();
    let Ok(output) = output else { return false };
    let dir = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    output.status.success() && fs::read_dir(dir).is_ok_and(|mut it| it.next().is_some())
}

fn compile(
    target: &Target,
    source: &str,
    output: &Path,
    more: impl FnOnce(&mut Command) -> &mut Command,
) -> bool {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let mut command = rustc();
    command.arg(root.join("src").join(source)).arg("-o").arg(output);
    command.args(["--edition=2024", "--target", target.name, "--cap-lints=allow"]);
    command.args(["-Copt-level=z", "-Cpanic=abort", "-Clto=fat", "-Ccodegen-units=1"]);
    command.args(["-Cstrip=symbols", "--check-cfg=cfg(carries_helper)"]);
    command.arg(format!("--remap-path-prefix={}=helper", root.display()));
    command.args(target.flags);
    match more(&mut command).output() {
        Ok(result) if result.status.success() => true,
        Ok(result) => {
            for line in String::from_utf8_lossy(&result.stderr).lines().take(20) {
                println!("cargo::warning={}: {line}", target.name);
            }
            false
        }
        Err(error) => {
            println!("cargo::warning={}: {error}", target.name);
            false
        }
    }
}

fn rustc() -> Command {
    Command::new(env::var_os("RUSTC").expect("cargo sets it"))
}
