//! `completion`: shell completion of commands, flags, types and names of resources.
//!
//! The scripts know nothing themselves: they call the hidden command `__complete`, which knows the commands and asks
//! the running instance for everything else.

use clap::{Arg, Args, Subcommand};
use engine_api::Kind;

use super::{
    Printer,
    client::{ApiClient, Selection},
    command_line::{COMPLETE, COMPLETE_NO_DESC},
    connect::{self, ConnectFlags},
    program, resource_type,
};

/// Shells: after these candidates, do not offer files.
const NO_FILES: u8 = 4;
/// Shells: offer files.
const FILES: u8 = 0;

/// The shells that are known.
#[derive(Debug, Subcommand)]
pub enum Shell {
    /// Generate the completion script for bash
    Bash(ScriptFlags),
    /// Generate the completion script for fish
    Fish(ScriptFlags),
    /// Generate the completion script for PowerShell
    Powershell(ScriptFlags),
    /// Generate the completion script for zsh
    Zsh(ScriptFlags),
}

/// Flags of a script.
#[derive(Debug, Args)]
pub struct ScriptFlags {
    /// Leave out descriptions of candidates
    #[arg(long)]
    no_descriptions: bool,
}

/// What is on the line so far; the last word is the one to be completed.
#[derive(Debug, Args)]
pub struct CompleteFlags {
    #[arg(value_name = "WORDS")]
    words: Vec<String>,
}

/// Prints the script of a shell.
pub fn script(shell: &Shell, printer: Printer) {
    let (text, flags) = match shell {
        Shell::Bash(flags) => (include_str!("completion/bash.sh"), flags),
        Shell::Fish(flags) => (include_str!("completion/fish.fish"), flags),
        Shell::Powershell(flags) => (include_str!("completion/powershell.ps1"), flags),
        Shell::Zsh(flags) => (include_str!("completion/zsh.sh"), flags),
    };
    let text = for_program(text, program());
    printer.out(&if flags.no_descriptions {
        text.replace(COMPLETE, COMPLETE_NO_DESC)
    } else {
        text
    });
}

/// A script that completes the program of this name.
fn for_program(script: &str, name: &str) -> String {
    let function = name.replace(|it: char| !it.is_ascii_alphanumeric(), "_");
    script.replace("{function}", &function).replace("{program}", name)
}

/// Names that the documentation explains, with what they are about.
pub type DocumentedNames = fn() -> Vec<(String, String)>;

/// Prints the candidates for the last word, then what else the shell may offer.
pub fn complete(
    flags: &CompleteFlags,
    descriptions: bool,
    root: &clap::Command,
    documented: DocumentedNames,
    printer: Printer,
) {
    let (last, before) = match flags.words.split_last() {
        Some((last, before)) => (last.as_str(), before),
        None => ("", &[][..]),
    };
    let line = Line::new(root, documented, before);
    let (candidates, directive) = line.candidates(last);
    let mut out = String::new();
    for candidate in candidates.iter().filter(|it| it.starts_with(last)) {
        let name = candidate.split('\t').next().unwrap_or_default();
        out.push_str(if descriptions { candidate } else { name });
        out.push('\n');
    }
    printer.out(&format!("{out}:{directive}\n"));
    let word = if directive == NO_FILES { "NoFileComp" } else { "Default" };
    printer.err(&format!("Completion ended with directive: ShellCompDirective{word}\n"));
}

/// What the words before the last one say.
struct Line<'a> {
    command: &'a clap::Command,
    documented: DocumentedNames,
    path: Vec<&'a str>,
    words: Vec<&'a str>,
    /// The flag whose value comes next.
    open: Option<&'a Arg>,
    port: Option<i64>,
}

impl<'a> Line<'a> {
    fn new(root: &'a clap::Command, documented: DocumentedNames, before: &'a [String]) -> Self {
        let mut line = Self {
            command: root,
            documented,
            path: Vec::new(),
            words: Vec::new(),
            open: None,
            port: None,
        };
        for word in before {
            line.read(word);
        }
        line
    }

    fn read(&mut self, word: &'a str) {
        if let Some(flag) = self.open.take() {
            self.value(flag, word);
        } else if let Some(name) = word.strip_prefix("--") {
            let (name, value) = name.split_once('=').map_or((name, None), |(n, v)| (n, Some(v)));
            let flag = self.command.get_arguments().find(|it| it.get_long() == Some(name));
            self.flag(flag, value);
        } else if word.len() > 1 && word.starts_with('-') {
            let short = word.chars().nth(1);
            let flag = self.command.get_arguments().find(|it| it.get_short() == short);
            self.flag(flag, (word.chars().count() > 2).then_some(""));
        } else if let Some(next) = self.command.find_subcommand(word)
            && self.words.is_empty()
        {
            self.command = next;
            self.path.push(next.get_name());
        } else {
            self.words.push(word);
        }
    }

    fn flag(&mut self, flag: Option<&'a Arg>, value: Option<&'a str>) {
        match (flag, value) {
            (Some(flag), Some(value)) => self.value(flag, value),
            (Some(flag), None) if flag.get_action().takes_values() => self.open = Some(flag),
            _ => {}
        }
    }

    fn value(&mut self, flag: &Arg, value: &str) {
        if flag.get_long() == Some("port") {
            self.port = value.parse().ok().or(self.port);
        }
    }

    fn candidates(&self, last: &str) -> (Vec<String>, u8) {
        if let Some(flag) = self.open {
            return self.values(flag);
        }
        if last.starts_with('-') {
            return (self.flags(), NO_FILES);
        }
        let commands: Vec<String> = self
            .command
            .get_subcommands()
            .filter(|it| !it.is_hide_set())
            .map(|it| described(it.get_name(), it.get_about()))
            .collect();
        if !commands.is_empty() && self.words.is_empty() {
            return (commands, NO_FILES);
        }
        self.subjects(last)
    }

    fn flags(&self) -> Vec<String> {
        let flags = self.command.get_arguments().filter(|it| !it.is_hide_set());
        flags
            .filter_map(|it| Some(described(&format!("--{}", it.get_long()?), it.get_help())))
            .collect()
    }

    fn values(&self, flag: &Arg) -> (Vec<String>, u8) {
        let valid = flag.get_possible_values();
        if !valid.is_empty() {
            let words = valid.iter().map(|it| described(it.get_name(), it.get_help()));
            return (words.collect(), NO_FILES);
        }
        let words = |list: &[&str]| list.iter().map(|it| (*it).to_owned()).collect();
        match flag.get_long().unwrap_or_default() {
            "level" | "log-level" => (words(&["warn", "error"]), NO_FILES),
            "source" | "log-source" => (words(&["all", "build", "runtime"]), NO_FILES),
            "labels" | "selector" => (self.labels(), NO_FILES),
            "log-resource" => (self.names(Kind::UiResource), NO_FILES),
            "output" => {
                let simple = ["json", "yaml", "kyaml", "name", "wide"];
                let with_text = ["jsonpath", "jsonpath-as-json", "go-template", "custom-columns"];
                let with_file = ["jsonpath-file", "go-template-file", "custom-columns-file"];
                let others = with_text.iter().chain(&with_file).map(|it| format!("{it}="));
                let simple = simple.iter().map(|it| (*it).to_owned());
                (simple.chain(others).collect(), NO_FILES)
            }
            "for" => {
                (words(&["condition=Ready", "condition=UpToDate", "delete", "create"]), NO_FILES)
            }
            "type" => (words(&["json", "merge", "strategic"]), NO_FILES),
            _ => (Vec::new(), FILES),
        }
    }

    /// Resources, types, or names of objects, whatever the command is about.
    fn subjects(&self, last: &str) -> (Vec<String>, u8) {
        match self.path.last().copied().unwrap_or_default() {
            "trigger" | "enable" | "disable" | "logs" | "status" | "why" | "args" | "shell"
            | "tree-view" => (self.names(Kind::UiResource), NO_FILES),
            "get" | "describe" | "wait" | "delete" | "patch" | "edit" | "explain" => {
                (self.objects(last), NO_FILES)
            }
            "docs" => {
                let names = (self.documented)().into_iter();
                (names.map(|(name, about)| format!("{name}\t{about}")).collect(), NO_FILES)
            }
            _ => (Vec::new(), FILES),
        }
    }

    fn objects(&self, last: &str) -> Vec<String> {
        if let Some((kind, _)) = last.split_once('/') {
            let names = resource_type::find(kind).map(|it| self.names(it)).unwrap_or_default();
            return names.iter().map(|it| format!("{kind}/{it}")).collect();
        }
        match self.words.first() {
            Some(kind) => resource_type::find(kind).map(|it| self.names(it)).unwrap_or_default(),
            None => Kind::ALL.iter().map(|it| it.singular().to_owned()).collect(),
        }
    }

    /// The names of all objects of a kind; none without a running instance.
    fn names(&self, kind: Kind) -> Vec<String> {
        let objects = self.list(kind);
        let names = objects.iter().filter_map(|it| it["metadata"]["name"].as_str());
        names.map(str::to_owned).collect()
    }

    fn labels(&self) -> Vec<String> {
        let mut labels: Vec<String> = self
            .list(Kind::UiResource)
            .iter()
            .filter_map(|it| it["metadata"]["labels"].as_object())
            .flat_map(|it| it.keys().cloned())
            .collect();
        labels.sort();
        labels.dedup();
        labels
    }

    fn list(&self, kind: Kind) -> Vec<serde_json::Value> {
        let flags = ConnectFlags::new(self.port, connect::default_host());
        let client = ApiClient::new(&flags);
        client.and_then(|it| it.list(kind, &Selection::default())).unwrap_or_default()
    }
}

/// A candidate and what it means.
fn described(name: &str, about: Option<&clap::builder::StyledStr>) -> String {
    match about.map(ToString::to_string).filter(|it| !it.is_empty()) {
        Some(about) => format!("{name}\t{}", about.lines().next().unwrap_or_default()),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;
    use crate::{apply, get, tree_view, trigger};

    #[derive(Parser)]
    enum Root {
        Apply(apply::ApplyFlags),
        Docs {
            #[arg(short, value_parser = ["text", "json"])]
            output: String,
            names: Vec<String>,
        },
        Get(get::GetFlags),
        Trigger(trigger::TriggerFlags),
        #[command(subcommand)]
        Alpha(Alpha),
    }

    #[derive(Subcommand)]
    enum Alpha {
        TreeView(tree_view::TreeViewFlags),
    }

    fn documented() -> Vec<(String, String)> {
        ["docker_build", "live_update"].map(|it| (it.to_owned(), "about it".to_owned())).to_vec()
    }

    fn candidates(words: &[&str]) -> (Vec<String>, u8) {
        let mut root = Root::command();
        root.build();
        let words: Vec<String> = words.iter().map(|it| (*it).to_owned()).collect();
        let (last, before) = words.split_last().unwrap();
        let (all, directive) = Line::new(&root, documented, before).candidates(last);
        let names = all.iter().filter(|it| it.starts_with(last.as_str()));
        (names.map(|it| it.split('\t').next().unwrap_or_default().to_owned()).collect(), directive)
    }

    #[test]
    fn commands_flags_values_and_types_are_completed() {
        assert_eq!(candidates(&["tri"]), (vec!["trigger".to_owned()], NO_FILES));
        assert_eq!(
            candidates(&["get", "--ignore"]),
            (vec!["--ignore-not-found".to_owned()], NO_FILES)
        );
        assert_eq!(
            candidates(&["get", "-o", "js"]),
            (
                ["json", "jsonpath=", "jsonpath-as-json=", "jsonpath-file="]
                    .map(str::to_owned)
                    .to_vec(),
                NO_FILES
            )
        );
        assert_eq!(candidates(&["get", "-w", "uir"]), (vec!["uiresource".to_owned()], NO_FILES));
        assert_eq!(candidates(&["apply", "-f", ""]), (Vec::new(), FILES));
        assert_eq!(candidates(&["docs", "doc"]), (vec!["docker_build".to_owned()], NO_FILES));
        assert_eq!(candidates(&["docs", "-o", "t"]), (vec!["text".to_owned()], NO_FILES));
        assert_eq!(candidates(&["alpha", "tree"]), (vec!["tree-view".to_owned()], NO_FILES));
    }
}
