//! Embeds every file below `ext/` into the library.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("ext");
    println!("cargo::rerun-if-changed=ext");
    let mut code = String::from("pub(crate) static EXTENSIONS: &[Extension] = &[\n");
    for dir in sorted(&root)? {
        // Names such as `tests/golang` are folders in folders.
        for tiltfile in tiltfiles(&dir)? {
            let folder = tiltfile.parent().expect("it is in a folder");
            let name = folder.strip_prefix(&root).expect("it is below the root");
            code.push_str(&format!(
                "    Extension {{ name: {:?}, files: &[\n",
                name.to_string_lossy()
            ));
            for file in sorted(folder)?.into_iter().filter(|it| it.is_file()) {
                let path = file.file_name().expect("it has a name").to_string_lossy().into_owned();
                code.push_str(&format!(
                    "        File {{ path: {path:?}, text: include_str!({:?}) }},\n",
                    file.to_string_lossy()
                ));
            }
            code.push_str("    ] },\n");
        }
    }
    code.push_str("];\n");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("extensions.rs"), code)
}

fn sorted(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths =
        fs::read_dir(dir)?.map(|it| it.map(|it| it.path())).collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

fn tiltfiles(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    if !dir.is_dir() {
        return Ok(found);
    }
    for path in sorted(dir)? {
        if path.is_dir() {
            found.extend(tiltfiles(&path)?);
        } else if path.file_name().is_some_and(|it| it == "Tiltfile") {
            found.push(path);
        }
    }
    Ok(found)
}
