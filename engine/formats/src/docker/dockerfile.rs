//! Decides which images a Dockerfile is built from, and rewrites those that were built before.

use std::collections::HashMap;
use std::fmt;

use super::reference::Reference;
use super::selector::RefSelector;

mod heredoc;
mod instruction;
mod parser;
mod patch;
mod shell;
mod split;

use parser::Instruction;
use shell::Lexer;

/// A Dockerfile with a syntax error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("dockerfile.ParseAST: {0}")]
pub struct DockerfileError(String);

/// The instructions of a Dockerfile.
#[derive(Debug, Clone)]
pub struct Dockerfile {
    nodes: Vec<Instruction>,
    escape: char,
    /// The `# name=value` lines at the start.
    directives: Vec<(String, String)>,
}

/// Lists the images that a Dockerfile refers to. `build_args` are `NAME=value`, or `NAME` alone.
pub fn find_images<S: AsRef<str>>(
    text: &str,
    build_args: &[S],
) -> Result<Vec<Reference>, DockerfileError> {
    Ok(Dockerfile::parse(text)?.images(build_args))
}

impl Dockerfile {
    /// Reads a Dockerfile as far as every instruction's own syntax.
    pub fn parse(text: &str) -> Result<Self, DockerfileError> {
        parser::parse(text).map_err(DockerfileError)
    }

    /// The images named by `FROM` and `COPY --from`, in order. What is no image name is left out,
    /// while a stage's name counts like any other.
    pub fn images<S: AsRef<str>>(&self, build_args: &[S]) -> Vec<Reference> {
        self.references(build_args).into_iter().map(|(_, reference)| reference).collect()
    }

    /// Makes every instruction that uses a selected image use `built` instead; false if none does.
    pub fn replace_image<S: AsRef<str>>(
        &mut self,
        selector: &RefSelector,
        built: &Reference,
        build_args: &[S],
    ) -> bool {
        let mut replaced = false;
        for (index, reference) in self.references(build_args) {
            if selector.matches(&reference) {
                self.nodes[index].replace_image(&built.familiar());
                replaced = true;
            }
        }
        replaced
    }

    /// The images with the index of the instruction that names them.
    fn references<S: AsRef<str>>(&self, build_args: &[S]) -> Vec<(usize, Reference)> {
        // Arguments of the file are put in front one by one, so that the first declaration of a
        // name wins over later ones, and the build's own arguments win over all.
        let mut args: Vec<Vec<(String, Option<String>)>> =
            build_args.iter().rev().map(|arg| vec![instruction::split_arg(arg.as_ref())]).collect();
        let mut found = Vec::new();
        for (index, node) in self.nodes.iter().enumerate() {
            let image = match node.command.to_lowercase().as_str() {
                "arg" => {
                    args.extend(instruction::parse_arg(&node.args));
                    None
                }
                "from" => self.base_name(node, &args),
                "copy" => instruction::parse_copy_from(node),
                _ => None,
            };
            if let Some(reference) = image.and_then(|name| Reference::parse(&name).ok()) {
                found.push((index, reference));
            }
        }
        found
    }

    fn base_name(
        &self,
        node: &Instruction,
        args: &[Vec<(String, Option<String>)>],
    ) -> Option<String> {
        let first = node.args.first()?;
        if !instruction::is_valid_from(node) {
            return Some(first.clone());
        }
        let values = self.argument_values(args);
        let lookup = |name: &str| values.get(name).cloned();
        Some(Lexer::new(self.escape, &lookup).process_word(first).unwrap_or_else(|_| first.clone()))
    }

    /// The value of every argument. The last declaration comes first, as in `references`.
    fn argument_values(&self, args: &[Vec<(String, Option<String>)>]) -> HashMap<String, String> {
        let mut values: HashMap<String, String> = HashMap::new();
        for declaration in args.iter().rev() {
            let mut value = String::new();
            for (name, default) in declaration {
                if let Some(default) = default {
                    let lookup = |name: &str| values.get(name).cloned();
                    let lexer = Lexer::new(self.escape, &lookup);
                    value = lexer.process_word(default).unwrap_or_default();
                }
                values.insert(name.clone(), value.clone());
            }
        }
        values
    }
}

impl fmt::Display for Dockerfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = 1;
        for (name, value) in &self.directives {
            writeln!(f, "# {name} = {value}")?;
            line += 1;
        }
        for node in &self.nodes {
            // Instructions keep their line numbers, so that messages point to the right place.
            for _ in line..node.start_line {
                writeln!(f)?;
            }
            let text = node.to_string();
            writeln!(f, "{text}")?;
            line = node.start_line + text.matches('\n').count() + 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
