//! The language server, as an editor uses it: started as a program, asked over standard input and output.

use std::{
    fs,
    io::{BufReader, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use lsp_server::{Message, Notification, Request, Response};
use serde_json::{Value, json};

struct Editor {
    server: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    n_requests: i32,
    dir: tempfile::TempDir,
}

impl Editor {
    fn start() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let mut server = Command::new(env!("CARGO_BIN_EXE_engine"))
            .args(["lsp", "start"])
            .env("HOME", dir.path())
            .env("XDG_DATA_HOME", dir.path().join("data"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let input = server.stdin.take();
        let output = BufReader::new(server.stdout.take().expect("it has an output"));
        let mut editor = Self { server, input, output, n_requests: 0, dir };
        let answer = editor.ask("initialize", &json!({"capabilities": {}}));
        assert_eq!(answer["capabilities"]["hoverProvider"], true);
        editor.tell("initialized", &json!({}));
        editor
    }

    fn uri(&self, name: &str) -> String {
        format!("file://{}", self.dir.path().join(name).display())
    }

    fn send(&mut self, message: &Message) {
        let input = self.input.as_mut().expect("the server listens");
        message.write(input).expect("the server reads");
        input.flush().expect("the server reads");
    }

    fn tell(&mut self, method: &str, params: &Value) {
        self.send(&Message::Notification(Notification::new(method.to_owned(), params)));
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.answer(method, params).response_result.unwrap_or_default()
    }

    fn answer(&mut self, method: &str, params: &Value) -> Response {
        self.n_requests += 1;
        let id = self.n_requests.into();
        self.send(&Message::Request(Request::new(id, method.to_owned(), params)));
        loop {
            match self.read() {
                Message::Response(answer) => return answer,
                Message::Notification(_) | Message::Request(_) => {}
            }
        }
    }

    fn read(&mut self) -> Message {
        Message::read(&mut self.output).expect("it speaks the protocol").expect("it goes on")
    }

    /// Opens a text in the editor, and gives what is wrong with it.
    fn open(&mut self, name: &str, text: &str) -> Vec<Value> {
        let document =
            json!({"uri": self.uri(name), "languageId": "tiltfile", "version": 1, "text": text});
        self.tell("textDocument/didOpen", &json!({"textDocument": document}));
        self.mistakes(name)
    }

    fn change(&mut self, name: &str, text: &str) -> Vec<Value> {
        let document = json!({"uri": self.uri(name), "version": 2});
        let params = json!({"textDocument": document, "contentChanges": [{"text": text}]});
        self.tell("textDocument/didChange", &params);
        self.mistakes(name)
    }

    /// The next diagnostics of a file.
    fn mistakes(&mut self, name: &str) -> Vec<Value> {
        let uri = self.uri(name);
        loop {
            if let Message::Notification(it) = self.read()
                && it.params["uri"] == uri.as_str()
            {
                return it.params["diagnostics"].as_array().cloned().unwrap_or_default();
            }
        }
    }

    fn at(&self, name: &str, line: u32, character: u32) -> Value {
        let position = json!({"line": line, "character": character});
        json!({"textDocument": {"uri": self.uri(name)}, "position": position})
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.dir.path().join(name), text).expect("the folder is ours");
    }

    /// Ends as the protocol says, and gives the exit code.
    fn end(mut self) -> Option<i32> {
        self.ask("shutdown", &Value::Null);
        self.tell("exit", &Value::Null);
        self.input = None;
        self.server.wait().expect("it ends").code()
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        if let Ok(None) = self.server.try_wait() {
            let _ = self.server.kill();
            let _ = self.server.wait();
        }
    }
}

fn labels(answer: &Value) -> Vec<&str> {
    answer["items"].as_array().into_iter().flatten().filter_map(|it| it["label"].as_str()).collect()
}

#[test]
fn an_editor_is_told_names_parameters_places_and_mistakes() {
    let mut editor = Editor::start();
    editor.write("lib.tilt", "def greet(name, loud=False):\n    'Greets.'\n    pass\n");
    let text = "load('./lib.tilt', 'greet')\nload('ext://hello_world', 'hi')\ngreet('you')\nhi()\ndocker_b\n";
    let mistakes = editor.open("Tiltfile", text);
    assert_eq!(mistakes[0]["message"], "undefined: docker_b");
    assert_eq!(mistakes[0]["source"], "engine");

    let found = editor.ask("textDocument/completion", &editor.at("Tiltfile", 4, 8));
    assert_eq!(labels(&found), ["docker_build"]);
    let hover = editor.ask("textDocument/hover", &editor.at("Tiltfile", 2, 2));
    assert!(
        hover["contents"]["value"].as_str().is_some_and(|it| it.contains("Greets.")),
        "{hover}"
    );
    let place = editor.ask("textDocument/definition", &editor.at("Tiltfile", 2, 2));
    assert_eq!(place["uri"], editor.uri("lib.tilt").as_str());
    assert_eq!(place["range"]["start"], json!({"line": 0, "character": 4}));
    let place = editor.ask("textDocument/definition", &editor.at("Tiltfile", 3, 1));
    let uri = place["uri"].as_str().unwrap_or_default();
    let extension = fs::read_to_string(Path::new(uri.trim_start_matches("file://")));
    assert!(uri.ends_with("hello_world/Tiltfile") && extension.is_ok(), "{place}");

    let text = "docker_build('a', \n";
    assert_eq!(editor.change("Tiltfile", text).len(), 1);
    let help = editor.ask("textDocument/signatureHelp", &editor.at("Tiltfile", 0, 18));
    assert_eq!(help["activeParameter"], 1);
    let found = editor.ask("textDocument/completion", &editor.at("Tiltfile", 0, 18));
    assert!(labels(&found).contains(&"live_update="), "{found}");

    let text = "docker_build('a', '.', onyl=[])\ndef f():\n    x = 1\ny = f()\n";
    assert_eq!(
        editor.change("Tiltfile", text)[0]["range"]["start"],
        json!({"line": 0, "character": 23})
    );
    let document = json!({"textDocument": {"uri": editor.uri("Tiltfile")}});
    let symbols = editor.ask("textDocument/documentSymbol", &document);
    let names: Vec<&Value> =
        symbols.as_array().into_iter().flatten().map(|it| &it["name"]).collect();
    assert_eq!(names, ["f", "y"]);

    let text = "local_resource('web', 'x')\ndef f(a):\n    local_resource('in', a)\nf(a='y')\n";
    assert_eq!(editor.change("Tiltfile", text), [Value::Null; 0]);
    let symbols = editor.ask("textDocument/documentSymbol", &document);
    assert_eq!(symbols[0]["name"], "web");
    assert_eq!(symbols[0]["detail"], "local_resource");
    assert_eq!(symbols[1]["children"][0]["name"], "in");
    let mut rename = editor.at("Tiltfile", 1, 6);
    rename["newName"] = json!("b");
    let edits = editor.ask("textDocument/rename", &rename);
    let edits = edits["changes"][editor.uri("Tiltfile")].as_array().map_or(0, Vec::len);
    assert_eq!(edits, 3);
    let uses = editor.ask("textDocument/references", &editor.at("Tiltfile", 1, 5));
    assert_eq!(uses.as_array().map(Vec::len), Some(2));
    rename["newName"] = json!("not a name");
    let refused = editor.answer("textDocument/rename", &rename).response_result;
    assert_eq!(refused.err().map(|it| it.message).as_deref(), Some("\"not a name\" is not a name"));
    assert_eq!(editor.end(), Some(0));
}

#[test]
fn extensions_are_found_where_the_tiltfile_declares_them() {
    let mut editor = Editor::start();
    fs::create_dir_all(editor.dir.path().join("ours/tool")).expect("the folder is ours");
    editor.write("ours/tool/Tiltfile", "def build(name):\n    pass\n");
    let text = format!(
        "v1alpha1.extension_repo(name='ours', url='{}')\n\
         v1alpha1.extension(name='tool', repo_name='ours', repo_path='tool')\n\
         v1alpha1.extension_repo(name='far', url='https://example.com/far', load_host='far')\n\
         load('ext://tool', 'build')\nload('ext://far/x', 'y')\nload('ext://nothing', 'z')\nbuild('a')\n",
        editor.uri("ours")
    );
    let mistakes = editor.open("Tiltfile", &text);
    // What is not fetched yet may have everything.
    assert_eq!(mistakes.len(), 1, "{mistakes:?}");
    assert_eq!(mistakes[0]["range"]["start"]["line"], 5);
    let found = editor.ask("textDocument/definition", &editor.at("Tiltfile", 6, 2));
    assert_eq!(found["uri"], editor.uri("ours/tool/Tiltfile"));
    assert_eq!(editor.end(), Some(0));
}

#[test]
fn what_it_does_not_know_is_refused_and_it_goes_on() {
    let mut editor = Editor::start();
    let refused = editor.answer("textDocument/formatting", &json!({}));
    assert_eq!(refused.response_result.err().map(|it| it.code), Some(-32601));
    // Files that were never opened, and places that do not exist.
    assert_eq!(editor.ask("textDocument/hover", &editor.at("other", 9, 9)), Value::Null);
    editor.open("Tiltfile", "");
    let far = editor.ask("textDocument/completion", &editor.at("Tiltfile", 999_999, 999_999));
    assert!(labels(&far).contains(&"docker_build"));
    assert_eq!(editor.end(), Some(0));
}

#[test]
fn an_editor_that_is_gone_ends_it() {
    let mut editor = Editor::start();
    editor.input = None;
    let status = editor.server.wait().expect("it ends");
    assert!(status.code().is_some(), "{status}");
}
