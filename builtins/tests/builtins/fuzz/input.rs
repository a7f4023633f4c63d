//! Inputs that look like what people write, more or less.

use std::path::Path;

use proptest::{
    prelude::Rng,
    test_runner::{RngAlgorithm, TestRng},
};

const TILTFILE_WORDS: &[&str] = &[
    "def ",
    "lambda ",
    "if ",
    "else ",
    "elif ",
    "for ",
    "in ",
    "while ",
    "return ",
    "load(",
    "not ",
    "and ",
    "or ",
    "pass",
    "break",
    "continue",
    "True",
    "False",
    "None",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ":",
    ",",
    ".",
    "=",
    "==",
    "+=",
    "-",
    "*",
    "**",
    "/",
    "//",
    "%",
    "|",
    "&",
    "^",
    "~",
    "<<",
    ">>",
    "<",
    ">=",
    "!=",
    ";",
    "\n",
    "\n  ",
    "\n    ",
    "\t",
    "\\\n",
    "#",
    "'",
    "\"",
    "\"\"\"",
    "r'",
    "b'",
    "0x",
    "1e9",
    "0",
    "1",
    "-1",
    "2147483648",
    "9223372036854775808",
    "0.5",
    "'a'",
    "'a.txt'",
    "'.'",
    "''",
    "'%s'",
    "'{}'",
    "[]",
    "{}",
    "()",
    "x",
    "y",
    "f",
    "_",
    "x = ",
    "f(",
    "\u{e9}",
    "\u{0}",
    "\u{2028}",
    "range(",
    "len(",
    "sorted(",
    "str(",
    "list(",
    "dict(",
    "set(",
    "zip(",
    "enumerate(",
    "struct(",
    "getattr(",
    "print(",
    "*args",
    "**kwargs",
    "key=",
    "name=",
    "deps=",
    ".get(",
    ".join(",
    ".format(",
    ".append(",
    ".split(",
    ".elems()",
    "[1:2]",
    "[::-1]",
    "[0]",
    "os.environ",
    "config.parse()",
];

const DATA_WORDS: &[&str] = &[
    "a",
    "b: ",
    "- ",
    "? ",
    ": ",
    "&x ",
    "*x",
    "!!str ",
    "!!binary ",
    "!t ",
    "<<: ",
    "{",
    "}",
    "[",
    "]",
    ",",
    "|",
    ">",
    "|2-",
    ">+",
    "#",
    "'",
    "\"",
    "\\",
    "\\u00e9",
    "\\x",
    "\n",
    "\n  ",
    "\n    ",
    "\n\n",
    "\t",
    "---",
    "\n---\n",
    "\n...\n",
    "%YAML 1.1\n",
    "~",
    "null",
    "true",
    "yes",
    "0x1f",
    "0o7",
    "1e3",
    ".inf",
    "-.nan",
    "1:30",
    "2001-01-01",
    "=",
    "@",
    "`",
    "\u{e9}",
    "\u{0}",
    "\u{feff}",
    "\u{2028}",
    "\u{85}",
    "1",
    "\r\n",
    "services:\n",
    "image: ",
    "build: ",
    "${A:-b}",
    "$$",
    "ports:\n",
    "\"80:80\"",
    "extends: ",
    "include: ",
    "apiVersion: v1\n",
    "kind: Pod\n",
    "metadata: ",
    "name: ",
    "spec: ",
    "containers: ",
    "env_file: ",
];

const DOCKER_WORDS: &[&str] = &[
    "FROM ",
    "RUN ",
    "COPY ",
    "ADD ",
    "ARG ",
    "ENV ",
    "CMD ",
    "ONBUILD ",
    " AS ",
    "--from=",
    "--mount=",
    "alpine",
    "gcr.io/a/b:c",
    "@sha256:",
    "localhost:5000/",
    "${A:-b}",
    "$A",
    "${",
    "}",
    "\\\n",
    "\n",
    "# escape=`",
    "# syntax=",
    "<<EOF",
    "\nEOF\n",
    "'",
    "\"",
    "[",
    "]",
    "!",
    "**/",
    "*",
    "?",
    "[a-z]",
    "/",
    ".",
    "..",
    "(",
    ")",
    "{2,}",
    "+",
    "^",
    "(?i)",
    "\\d",
    "\\Q",
    "1h2m",
    "-5",
    "\u{e9}",
    " ",
    "\t",
    ":",
    "=",
    "a",
    "B",
    "_",
    "-",
];

/// An endless supply of inputs that follow from a seed.
pub(crate) struct Inputs {
    seed: u64,
    rng: TestRng,
    words: &'static [&'static str],
    /// Texts to begin with.
    texts: Vec<String>,
    /// Names that texts call.
    names: Vec<String>,
}

impl Inputs {
    /// Tiltfiles.
    pub(crate) fn tiltfiles() -> Self {
        Self::new(TILTFILE_WORDS, &["Tiltfile"])
    }

    /// YAML, JSON and compose files.
    pub(crate) fn data() -> Self {
        Self::new(DATA_WORDS, &["yaml", "yml", "json"])
    }

    /// Dockerfiles, patterns and names of images.
    pub(crate) fn docker() -> Self {
        Self::new(DOCKER_WORDS, &["Dockerfile", ".dockerignore", ".tiltignore"])
    }

    /// The seed of this run.
    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    fn new(words: &'static [&'static str], endings: &[&str]) -> Self {
        let given = std::env::var("FUZZ_SEED").ok().and_then(|it| it.parse().ok());
        let seed: u64 = given.unwrap_or(20_240_229);
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
        let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../conformance-tests/cases");
        let mut texts = Vec::new();
        collect(&cases, endings, &mut texts);
        texts.sort();
        let mut names: Vec<String> = texts.iter().flat_map(|text| called_names(text)).collect();
        names.sort();
        names.dedup();
        Self { seed, rng, words, texts, names }
    }

    /// Some words, or a text that is known to be good with some changes.
    pub(crate) fn next_input(&mut self) -> String {
        if self.texts.is_empty() || self.below(3) == 0 {
            let n_words = 1 + self.below(60);
            return (0..n_words).map(|_| self.word()).collect();
        }
        let mut text = self.pick_text();
        for _ in 0..=self.below(6) {
            text = self.changed(&text);
        }
        text
    }

    fn changed(&mut self, text: &str) -> String {
        let (start, end) = self.span(text);
        let (before, middle, after) = (&text[..start], &text[start..end], &text[end..]);
        match self.below(7) {
            0 => format!("{before}{after}"),
            1 => format!("{before}{middle}{middle}{after}"),
            2 => format!("{before}{}{after}", self.word()),
            3 | 4 => format!("{before}{}{middle}{after}", self.word()),
            5 => {
                let other = self.pick_text();
                let (start, end) = self.span(&other);
                format!("{before}{}{after}", &other[start..end])
            }
            _ => {
                let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
                let (a, b) = (self.below(lines.len().max(1)), self.below(lines.len().max(1)));
                if !lines.is_empty() {
                    lines.swap(a, b);
                }
                lines.concat()
            }
        }
    }

    /// A short part of a text.
    fn span(&mut self, text: &str) -> (usize, usize) {
        let start = self.below(text.len() + 1);
        let end = (start + self.below(30)).min(text.len());
        (text.floor_char_boundary(start), text.floor_char_boundary(end))
    }

    fn word(&mut self) -> String {
        if !self.names.is_empty() && self.below(4) == 0 {
            let index = self.below(self.names.len());
            return self.names[index].clone();
        }
        let index = self.below(self.words.len());
        self.words[index].to_owned()
    }

    fn pick_text(&mut self) -> String {
        let index = self.below(self.texts.len());
        self.texts[index].clone()
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.rng.next_u64() % limit as u64).expect("it is below the limit")
    }
}

fn collect(dir: &Path, endings: &[&str], texts: &mut Vec<String>) {
    let Ok(entries) = std::fs::read_dir(dir) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if path.is_dir() {
            collect(&path, endings, texts);
        } else if endings.iter().any(|it| name.ends_with(it))
            && !name.starts_with("expected")
            && let Ok(text) = std::fs::read_to_string(&path)
            && text.len() < 8_000
        {
            texts.push(text);
        }
    }
}

/// What a text calls, with the opening parenthesis.
fn called_names(text: &str) -> Vec<String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    text.match_indices('(')
        .filter_map(|(at, _)| {
            let start = text[..at].rfind(|c: char| !is_name(c)).map_or(0, |it| it + 1);
            let start = (start..=at).find(|it| text.is_char_boundary(*it))?;
            (start < at).then(|| text[start..=at].to_owned())
        })
        .collect()
}
