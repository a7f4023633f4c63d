//! What a name leads to: topics, entries, extensions and their functions.

use std::fmt::Write;

use engine_formats::golang::spell;

use super::{
    Chapter, Entry, ExtensionFunction, Layout, REFERENCE, TOPICS, Topic, extension, find, print,
};

/// What can be looked up.
#[derive(Debug)]
pub enum Page {
    /// A page about what belongs together.
    Topic(&'static Topic),
    /// A predeclared name, and the chapter that explains it.
    Entry(&'static str, &'static Entry),
    /// A bundled extension.
    Extension(&'static stdlib::Extension),
    /// A function of a bundled extension.
    Function(ExtensionFunction),
}

impl Page {
    /// What it is called.
    pub fn name(&self) -> String {
        match self {
            Self::Topic(it) => it.name.to_owned(),
            Self::Entry(_, it) => it.name.to_owned(),
            Self::Extension(it) => format!("ext://{}", it.name),
            Self::Function(it) => it.name.clone(),
        }
    }

    /// What it says first.
    pub fn summary(&self) -> String {
        let text = match self {
            Self::Topic(it) => it.title,
            Self::Entry(_, it) => it.summary(),
            Self::Extension(it) => extension::summary(it),
            Self::Function(it) => it.summary(),
        };
        text.replace('\n', " ")
    }

    /// The whole page.
    pub fn markdown(&self) -> String {
        match self {
            Self::Topic(it) => topic(it),
            Self::Entry(_, it) => print::markdown(it),
            Self::Extension(it) => extension::markdown(it),
            Self::Function(it) => it.markdown(),
        }
    }
}

fn topic(topic: &Topic) -> String {
    let mut out = format!("# {}\n\n{}\n", topic.title, topic.text);
    for (at, entry) in topic.see.iter().filter_map(|it| find(it)).enumerate() {
        let start = if at == 0 { "\n## Names\n\n" } else { "" };
        let _ = writeln!(out, "{start}- `{}`: {}", entry.name, entry.summary());
    }
    out
}

/// Everything that a name means: `os.path` is a module with all its members, `config` a topic as well, and the last part
/// of a name (`getenv`) will do.
pub fn look_up(name: &str) -> Vec<Page> {
    let (name, is_extension) = match name.strip_prefix("ext://") {
        Some(name) => (name, true),
        None => (name, false),
    };
    let mut found = Vec::new();
    if !is_extension {
        found.extend(TOPICS.iter().filter(|it| it.name == name).map(Page::Topic));
        found.extend(matching(|it| {
            let rest = it.strip_prefix(name);
            rest.is_some_and(|it| it.is_empty() || it.starts_with('.'))
        }));
    }
    found.extend(stdlib::find(name).map(Page::Extension));
    if found.is_empty() {
        found.extend(matching(|it| it.rsplit('.').next() == Some(name)));
        let functions = stdlib::all().flat_map(extension::functions);
        found.extend(functions.filter(|it| it.name == name).map(Page::Function));
    }
    found
}

fn matching(is_meant: impl Fn(&str) -> bool) -> Vec<Page> {
    let all = REFERENCE.iter().flat_map(of_chapter);
    all.filter(|it| matches!(it, Page::Entry(_, entry) if is_meant(entry.name))).collect()
}

fn of_chapter(chapter: &'static Chapter) -> impl Iterator<Item = Page> {
    chapter.entries.iter().map(|it| Page::Entry(chapter.title, it))
}

/// All topics, then the reference chapter by chapter.
pub fn pages() -> impl Iterator<Item = Page> {
    TOPICS.iter().map(Page::Topic).chain(REFERENCE.iter().flat_map(of_chapter))
}

/// Every name that can be looked up, with what it is about.
pub fn names() -> Vec<(String, String)> {
    let extensions = stdlib::all().map(Page::Extension);
    let functions = stdlib::all().flat_map(extension::functions).map(Page::Function);
    pages().chain(extensions).chain(functions).map(|it| (it.name(), it.summary())).collect()
}

/// Names that were probably meant by one that does not exist: the nearest one, else those that contain it.
pub fn similar(name: &str) -> Vec<String> {
    let bare = name.trim_start_matches("ext://");
    let all: Vec<String> = names().into_iter().map(|(name, _)| name).collect();
    let ends = all.iter().flat_map(|it| [it.as_str(), it.rsplit(['.', '/']).next().unwrap_or(it)]);
    if let Some(near) = spell::nearest(bare, ends) {
        let full = all.iter().find(|it| *it == near || it.ends_with(&format!("://{near}")));
        return vec![full.map_or(near, String::as_str).to_owned()];
    }
    all.into_iter().filter(|it| !bare.is_empty() && it.contains(bare)).take(5).collect()
}

/// All topics, one line each.
pub fn topics(layout: Layout) -> String {
    let mut out = String::new();
    section(&mut out, layout, "Topics", TOPICS.iter().map(Page::Topic));
    out
}

/// All names, one line each: topics, the reference chapter by chapter, and the extensions.
pub fn index(layout: Layout) -> String {
    let mut out = topics(layout);
    for chapter in REFERENCE.iter() {
        section(&mut out, layout, chapter.title, of_chapter(chapter));
    }
    section(&mut out, layout, "Extensions", stdlib::all().map(Page::Extension));
    out
}

fn section(out: &mut String, layout: Layout, title: &str, pages: impl Iterator<Item = Page>) {
    let lines: Vec<(String, String)> = pages.map(|it| (it.name(), it.summary())).collect();
    let width = lines.iter().map(|(name, _)| name.len()).max().unwrap_or_default().min(32);
    let start = if out.is_empty() { "" } else { "\n" };
    let _ = writeln!(out, "{start}{}", layout.paint("1", &title.to_uppercase()));
    for (name, summary) in lines {
        let room = layout.width.saturating_sub(width.max(name.len()) + 4);
        let padding = " ".repeat(width.saturating_sub(name.len()));
        let name = layout.paint("36", &name);
        let _ = writeln!(out, "  {name}{padding}  {}", shortened(&summary, room));
    }
}

/// The first sentence, or as much of it as there is room for.
fn shortened(summary: &str, room: usize) -> String {
    let sentence = summary.split_once(". ").map_or(summary, |(first, _)| first);
    let sentence = sentence.trim_end_matches('.');
    if sentence.chars().count() <= room {
        return sentence.to_owned();
    }
    let kept: String = sentence.chars().take(room.saturating_sub(2)).collect();
    let whole = kept.rsplit_once(' ').map_or(kept.as_str(), |(words, _)| words);
    format!("{whole} …")
}
