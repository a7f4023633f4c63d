//! The language server: what editors ask about Tiltfiles, over standard input and output or a socket.

use std::{
    collections::{HashMap, HashSet},
    path::{Path, PathBuf},
    sync::Arc,
};

use builtins::lsp::{
    self, Completion, CompletionKind, Diagnostic, Document, Location, RenameError, Severity,
    Symbol, SymbolKind, TextPosition,
};
use engine_cli::program;
use lsp_server::{Connection, ErrorCode, Message, Notification, Request, Response};
use serde_json::{Value, json};

use files::OpenFiles;

mod files;

/// Why the server ended.
#[derive(Debug, thiserror::Error)]
pub enum LspError {
    /// The editor does not speak the protocol.
    #[error("language server: {0}")]
    Protocol(String),
    /// The address cannot be listened on.
    #[error("language server: cannot listen on {address}: {cause}")]
    Address {
        /// The address.
        address: String,
        /// What went wrong.
        cause: std::io::Error,
    },
}

/// Serves one editor: at standard input and output, or the first one that connects to an address.
///
/// # Errors
/// If the address cannot be used, or the editor breaks the protocol.
pub fn serve(address: Option<&str>) -> Result<(), LspError> {
    let (connection, threads) = match address {
        None => Connection::stdio(),
        Some(address) => Connection::listen(address)
            .map_err(|cause| LspError::Address { address: address.to_owned(), cause })?,
    };
    let served = session(&connection);
    // The threads end when nothing can be sent to them any more.
    drop(connection);
    let ended = threads.join();
    served?;
    ended.map_err(|error| LspError::Protocol(error.to_string()))
}

fn session(connection: &Connection) -> Result<(), LspError> {
    let problem = |error: lsp_server::ProtocolError| LspError::Protocol(error.to_string());
    connection.initialize(capabilities()).map_err(problem)?;
    let mut server = Server { connection, files: OpenFiles::default() };
    for message in &connection.receiver {
        match message {
            Message::Request(request) => {
                if connection.handle_shutdown(&request).map_err(problem)? {
                    return Ok(());
                }
                server.answer(request);
            }
            Message::Notification(notification) => server.take(&notification),
            Message::Response(_) => {}
        }
    }
    Ok(())
}

fn capabilities() -> Value {
    json!({
        "textDocumentSync": {"openClose": true, "change": 1, "save": {"includeText": true}},
        "completionProvider": {"triggerCharacters": [".", "/", "\"", "'", "(", "[", "="]},
        "signatureHelpProvider": {"triggerCharacters": ["("], "retriggerCharacters": [",", "="]},
        "hoverProvider": true,
        "definitionProvider": true,
        "referencesProvider": true,
        "renameProvider": true,
        "documentSymbolProvider": true,
    })
}

struct Server<'a> {
    connection: &'a Connection,
    files: OpenFiles,
}

impl Server<'_> {
    fn answer(&mut self, request: Request) {
        let Request { id, method, params } = request;
        let result = match method.as_str() {
            "textDocument/completion" => self.at(&params, |it| {
                let found = lsp::complete(it.document, it.path, it.files, it.offset);
                json!({"isIncomplete": false, "items": found.iter().map(completion).collect::<Vec<_>>()})
            }),
            "textDocument/hover" => self.at(&params, |it| {
                let hover = lsp::hover(it.document, it.path, it.files, it.offset);
                hover.map_or(Value::Null, |hover| {
                    let contents = json!({"kind": "markdown", "value": hover.markdown});
                    json!({"contents": contents, "range": range(&hover.range)})
                })
            }),
            "textDocument/signatureHelp" => self.at(&params, |it| {
                let help = lsp::signature_help(it.document, it.path, it.files, it.offset);
                help.map_or(Value::Null, |it| signature(&it))
            }),
            "textDocument/definition" => self.at(&params, |it| {
                let found = lsp::definition(it.document, it.path, it.files, it.offset);
                found.map_or(Value::Null, |found| location(&found, it.path))
            }),
            "textDocument/references" => self.at(&params, |it| {
                let found = lsp::references(it.document, it.offset);
                found.iter().map(|range| json!({"uri": uri(it.path), "range": self::range(range)})).collect()
            }),
            "textDocument/rename" => match self.rename(&params) {
                Ok(edit) => edit,
                Err(why) => {
                    let code = ErrorCode::RequestFailed as i32;
                    return self.send(Message::Response(Response::new_err(id, code, why.to_string())));
                }
            },
            "textDocument/documentSymbol" => self.symbols(&params),
            _ => {
                let message = format!("unknown method {method:?}");
                let code = ErrorCode::MethodNotFound as i32;
                return self.send(Message::Response(Response::new_err(id, code, message)));
            }
        };
        self.send(Message::Response(Response::new_ok(id, result)));
    }

    fn take(&mut self, notification: &Notification) {
        let params = &notification.params;
        let Some(path) = path_of(&params["textDocument"]["uri"]) else { return };
        match notification.method.as_str() {
            "textDocument/didOpen" => self.changed(&path, &params["textDocument"]["text"]),
            "textDocument/didChange" => {
                let changes = params["contentChanges"].as_array();
                let whole = changes.and_then(|it| it.last());
                self.changed(&path, whole.map_or(&Value::Null, |it| &it["text"]));
            }
            "textDocument/didSave" => self.changed(&path, &params["text"]),
            "textDocument/didClose" => {
                self.files.close(&path);
                self.publish(&path, &[]);
            }
            _ => {}
        }
    }

    /// A file has another text; files that load it may have other mistakes now.
    fn changed(&mut self, path: &Path, text: &Value) {
        if let Some(text) = text.as_str() {
            self.files.open(path.to_owned(), text.to_owned());
        }
        for (path, document) in self.files.all() {
            let found = lsp::diagnose(&document, &path, &self.files);
            self.publish(&path, &found);
        }
    }

    fn publish(&self, path: &Path, found: &[Diagnostic]) {
        let diagnostics: Vec<Value> = found.iter().map(diagnostic).collect();
        let params = json!({"uri": uri(path), "diagnostics": diagnostics});
        let method = "textDocument/publishDiagnostics".to_owned();
        self.send(Message::Notification(Notification { method, params }));
    }

    fn rename(&self, params: &Value) -> Result<Value, RenameError> {
        let name = params["newName"].as_str().unwrap_or_default();
        self.place(params, |it| {
            let edits: Value = lsp::rename(it.document, it.offset, name)?
                .iter()
                .map(|it| json!({"range": range(it), "newText": name}))
                .collect();
            Ok(json!({"changes": {uri(it.path): edits}}))
        })
        .unwrap_or(Ok(Value::Null))
    }

    /// Answers a question about a place of a file; files that are not open have no answer.
    fn at(&self, params: &Value, answer: impl FnOnce(&Place<'_>) -> Value) -> Value {
        self.place(params, answer).unwrap_or(Value::Null)
    }

    fn place<T>(&self, params: &Value, answer: impl FnOnce(&Place<'_>) -> T) -> Option<T> {
        let path = path_of(&params["textDocument"]["uri"])?;
        let document = self.files.get(&path)?;
        let number = |field: &str| {
            let it = params["position"][field].as_u64().unwrap_or_default();
            u32::try_from(it).unwrap_or(u32::MAX)
        };
        let at = TextPosition { line: number("line"), character: number("character") };
        let offset = document.offset(at);
        Some(answer(&Place { document: &document, path: &path, files: &self.files, offset }))
    }

    fn symbols(&self, params: &Value) -> Value {
        let path = path_of(&params["textDocument"]["uri"]);
        let Some(document) = path.and_then(|it| self.files.get(&it)) else { return Value::Null };
        outline(&document)
    }

    fn send(&self, message: Message) {
        // An editor that is gone is noticed by the loop.
        let _ = self.connection.sender.send(message);
    }
}

/// A place of a file that is edited.
struct Place<'a> {
    document: &'a Document,
    path: &'a Path,
    files: &'a OpenFiles,
    offset: usize,
}

/// What the outline shows, by the function that it is in: where it begins, and the symbol that it is.
type Nested = HashMap<Option<usize>, Vec<(usize, Option<usize>, Value)>>;

/// The symbols and resources of a file.
fn outline(document: &Document) -> Value {
    let mut nested = Nested::new();
    let mut seen = HashSet::new();
    for (at, it) in document.outline().symbols.iter().enumerate() {
        if !is_listed(it) || !seen.insert((it.parent, it.name.as_str())) {
            continue;
        }
        let (kind, detail) = match &it.kind {
            SymbolKind::Function { params, .. } => (12, format!("({})", params.join(", "))),
            SymbolKind::Variable => (13, String::new()),
        };
        let shown = symbol(document, &it.name, kind, &detail, [&it.range, &it.name_range]);
        nested.entry(it.parent).or_default().push((it.range.start, Some(at), shown));
    }
    for it in lsp::resources(document) {
        let shown = symbol(document, &it.name, 19, &it.function, [&it.range, &it.name_range]);
        nested.entry(it.parent).or_default().push((it.range.start, None, shown));
    }
    children(&mut nested, None)
}

/// What is in a function, or in the file itself, in the order of the text.
fn children(nested: &mut Nested, parent: Option<usize>) -> Value {
    let mut all = nested.remove(&parent).unwrap_or_default();
    all.sort_by_key(|(start, ..)| *start);
    all.into_iter()
        .map(|(_, at, mut shown)| {
            if at.is_some() {
                shown["children"] = children(nested, at);
            }
            shown
        })
        .collect()
}

fn symbol(
    document: &Document,
    name: &str,
    kind: u8,
    detail: &str,
    [all, selection]: [&std::ops::Range<usize>; 2],
) -> Value {
    json!({
        "name": name,
        "detail": detail,
        "kind": kind,
        "range": range(&document.range(all)),
        "selectionRange": range(&document.range(selection)),
    })
}

fn is_listed(symbol: &Symbol) -> bool {
    // Parameters and variables of functions would bury what people look for.
    matches!(symbol.kind, SymbolKind::Function { .. }) || symbol.parent.is_none()
}

fn completion(it: &Completion) -> Value {
    let kind = match it.kind {
        CompletionKind::Method => 2,
        CompletionKind::Function => 3,
        CompletionKind::Parameter => 5,
        CompletionKind::Variable => 6,
        CompletionKind::Module => 9,
        CompletionKind::Value => 12,
        CompletionKind::Keyword => 14,
        CompletionKind::File => 17,
        CompletionKind::Folder => 19,
    };
    // What fits the call comes before what can stand anywhere.
    let fits = matches!(it.kind, CompletionKind::Parameter | CompletionKind::Value);
    let rank = u8::from(!fits);
    let mut shown =
        json!({"label": it.label, "kind": kind, "sortText": format!("{rank}{}", it.label)});
    if !it.detail.is_empty() {
        shown["detail"] = json!(it.detail);
    }
    if let Some(replaces) = &it.replaces {
        shown["textEdit"] = json!({"range": range(replaces), "newText": it.label});
    }
    if !it.doc.is_empty() {
        shown["documentation"] = json!({"kind": "markdown", "value": it.doc});
    }
    shown
}

fn signature(it: &lsp::SignatureHelp) -> Value {
    let params: Vec<Value> = it
        .params
        .iter()
        .map(|(label, doc)| json!({"label": label, "documentation": {"kind": "markdown", "value": doc}}))
        .collect();
    let documentation = json!({"kind": "markdown", "value": it.doc});
    json!({
        "signatures": [{"label": it.label, "documentation": documentation, "parameters": params}],
        "activeSignature": 0,
        // Beyond the last parameter none is marked.
        "activeParameter": it.active.unwrap_or(it.params.len()),
    })
}

fn location(found: &Location, here: &Path) -> Value {
    let path = found.path.as_ref().map_or(here, |it| Path::new(it));
    json!({"uri": uri(path), "range": range(&found.range)})
}

fn diagnostic(it: &Diagnostic) -> Value {
    let severity = match it.severity {
        Severity::Error => 1,
        Severity::Warning => 2,
    };
    json!({"range": range(&it.range), "severity": severity, "source": program(), "message": it.message})
}

fn range(range: &lsp::Range) -> Value {
    let place = |it: TextPosition| json!({"line": it.line, "character": it.character});
    json!({"start": place(range.start), "end": place(range.end)})
}

/// The file of a URI; others than files have no folder around them, and are not served.
fn path_of(uri: &Value) -> Option<PathBuf> {
    let path = uri.as_str()?.strip_prefix("file://")?;
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.bytes();
    while let Some(byte) = rest.next() {
        let escaped = (byte == b'%').then(|| {
            let mut digits = rest.clone();
            let high = char::from(digits.next()?).to_digit(16)?;
            let low = char::from(digits.next()?).to_digit(16)?;
            u8::try_from(high * 16 + low).ok()
        });
        match escaped.flatten() {
            Some(byte) => {
                bytes.push(byte);
                rest.nth(1);
            }
            None => bytes.push(byte),
        }
    }
    Some(PathBuf::from(String::from_utf8(bytes).ok()?))
}

fn uri(path: &Path) -> String {
    let mut uri = "file://".to_owned();
    for byte in path.to_string_lossy().bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => {
                uri.push(char::from(byte));
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

/// A document that others share.
type Shared = Arc<Document>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_uris_say_the_same() {
        for path in ["/a/Tiltfile", "/a b/ü%/Tiltfile", "/x+y/(1)"] {
            assert_eq!(path_of(&json!(uri(Path::new(path)))), Some(PathBuf::from(path)));
        }
        assert_eq!(path_of(&json!("untitled:1")), None);
        assert_eq!(path_of(&json!("file:///a%zz%4")), Some(PathBuf::from("/a%zz%4")));
    }
}
