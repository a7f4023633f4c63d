//! The helper for each processor that containers run on, as built together with this library.

static X86_64: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/engine-helper-x86_64"));
static AARCH64: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/engine-helper-aarch64"));

/// The helper for a processor, by the name that Docker, Kubernetes or `uname -m` has for it. There is none
/// if it could not be built: then [`how_to_build`] says what was missing.
pub fn helper_for(architecture: &str) -> Option<&'static [u8]> {
    let program = match architecture {
        "amd64" | "x86_64" => X86_64,
        "arm64" | "aarch64" => AARCH64,
        _ => return None,
    };
    // An empty file stands for a program that could not be built.
    (!program.is_empty()).then_some(program)
}

/// What was missing for a processor when this library was built.
pub fn how_to_build(architecture: &str) -> String {
    let target = match architecture {
        "amd64" | "x86_64" => "x86_64-unknown-linux-musl",
        "arm64" | "aarch64" => "aarch64-unknown-linux-musl",
        _ => return format!("there is no helper for {architecture} containers"),
    };
    format!(
        "this engine was built without the helper for {architecture} containers: \
         run `rustup target add {target}` and build it again"
    )
}
