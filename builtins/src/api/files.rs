//! Files as text: `blob`, `read_file`, `watch_file`, `listdir`.

use builtins_language::{
    Args, BuiltinsExt, Evaluator, GlobalsBuilder, Outcome, Value, decode_utf8, raise,
};
use engine_formats::golang::path;

use super::{
    blob::Blob,
    coerce::{AbsPath, OrNone},
};
use crate::{
    host::{FileKind, Host},
    session::{Session, Watch},
};

pub(super) fn register(builder: &mut GlobalsBuilder) {
    builder.function("blob", blob);
    builder.function("read_file", read_file);
    builder.function("watch_file", watch_file);
    builder.function("listdir", listdir);
}

/// Makes a blob of a string.
fn blob<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let input: String = args.only(eval, "input")?;
    Ok(eval.heap().alloc(Blob::new(input, "Tiltfile blob() call")))
}

/// The text of a file, which is watched from then on.
fn read_file<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let (mut file, mut default) = (AbsPath::default(), OrNone::<String>::default());
    args.unpack(eval, &mut [("paths", &mut file), ("default?", &mut default)])?;
    let text = match (Session::of(eval).read_watched(&file.0), default.0) {
        (Ok(bytes), _) => decode_utf8(&bytes),
        (Err(why), Some(default)) if why.is_not_found() => default,
        (Err(why), _) => return Err(raise(why.to_string())),
    };
    Ok(eval.heap().alloc(Blob::new(text, format!("file: {}", file.0))))
}

/// Evaluates the Tiltfile again when this file or directory changes.
fn watch_file<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let file: AbsPath = args.only(eval, "paths")?;
    Session::of(eval).watch(Watch::Recursive, &file.0).map_err(|why| raise(why.to_string()))?;
    Ok(Value::new_none())
}

/// The absolute paths of the files in a directory.
fn listdir<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let (mut dir, mut recursive) = (AbsPath::default(), false);
    args.unpack(eval, &mut [("dir", &mut dir), ("recursive?", &mut recursive)])?;
    let session = Session::of(eval);
    if recursive {
        session.watch(Watch::Recursive, &dir.0).map_err(|why| raise(why.to_string()))?;
    }
    let files = files_below(session.host.as_ref(), &dir.0, recursive);
    Ok(eval.heap().alloc(files))
}

/// The files of a directory in lexical order; what cannot be read is left out.
pub(super) fn files_below(host: &dyn Host, dir: &str, recursive: bool) -> Vec<String> {
    let mut files = Vec::new();
    // Entries still to visit, the next one last.
    let mut pending: Vec<(String, FileKind)> = vec![(dir.to_owned(), FileKind::Directory)];
    while let Some((path, kind)) = pending.pop() {
        if kind != FileKind::Directory {
            files.push(path);
        } else if recursive || path == dir {
            let entries = host.list(&path).unwrap_or_default();
            pending.extend(
                entries
                    .into_iter()
                    .rev()
                    .map(|it| (path::join(&[path.as_str(), it.name.as_str()]), it.kind)),
            );
        }
    }
    files
}
