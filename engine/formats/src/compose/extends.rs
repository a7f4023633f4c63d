//! `extends`: a service that starts from another one, here or in another file.

use super::loader::{ConfigFile, Details, Loader, Purpose};
use super::read::Resets;
use super::value::{Map, Value};
use super::{ComposeError, files, merge};
use crate::golang::quote::quote;

/// Longest chain of services that extend each other.
const MAX_CHAIN: usize = 200;

/// Replaces every service of `tree` that extends another by the result.
pub(super) fn apply(
    loader: &Loader<'_>,
    tree: &mut Map,
    file: &str,
    details: &Details,
    resets: &Resets,
) -> Result<(), ComposeError> {
    let services = match tree.get_mut("services") {
        None => return Ok(()),
        Some(Value::Map(services)) => services,
        Some(_) => return Err(ComposeError::new("services must be a mapping")),
    };
    let names: Vec<String> = services.keys().cloned().collect();
    let context = Context { loader, file, details };
    for name in names {
        context.extend(&name, services, resets, &mut Vec::new())?;
    }
    Ok(())
}

struct Context<'a, 'w> {
    loader: &'a Loader<'w>,
    file: &'a str,
    details: &'a Details,
}

/// A service and the file it was found in.
type Link = (String, String);

impl Context<'_, '_> {
    /// Extends service `name` of `services` in place, and what it extends before.
    fn extend(
        &self,
        name: &str,
        services: &mut Map,
        resets: &Resets,
        chain: &mut Vec<Link>,
    ) -> Result<(), ComposeError> {
        let service = match services.get(name) {
            None | Some(Value::Null) => return Ok(()),
            Some(Value::Map(service)) => service,
            Some(_) => {
                return Err(ComposeError::new(format!("services.{name} must be a mapping")));
            }
        };
        let (wanted, other_file) = match service.get("extends") {
            None => return Ok(()),
            Some(Value::Str(wanted)) => (wanted.clone(), None),
            Some(Value::Map(extends)) => match extends.get("service") {
                Some(Value::Str(wanted)) => {
                    let file = extends.get("file").filter(|file| **file != Value::Null);
                    (wanted.clone(), file.map(Value::sprint))
                }
                _ => {
                    return Err(ComposeError::new(format!("extends.{name}.service is required")));
                }
            },
            Some(_) => (String::new(), None),
        };
        let base = match &other_file {
            Some(other) => {
                let (mut services, resets) = self.services_of(name, &wanted, other)?;
                follow(chain, other, name)?;
                self.extend(&wanted, &mut services, &resets, chain)?;
                services.shift_remove(&wanted)
            }
            None if !services.contains_key(&wanted) => {
                return Err(ComposeError::new(format!(
                    "cannot extend service {} in {}: service {} not found",
                    quote(name),
                    self.file,
                    quote(&wanted)
                )));
            }
            None => {
                follow(chain, self.file, name)?;
                self.extend(&wanted, services, resets, chain)?;
                services.get(&wanted).cloned()
            }
        };
        chain.pop();
        let Some(Value::Map(mut base)) = base else { return Ok(()) };
        let Some(Value::Map(service)) = services.get(name).cloned() else { return Ok(()) };
        resets.apply(&mut base, &["services", name]);
        let mut merged = merge::extend_service(base, service)?;
        merged.shift_remove("extends");
        services.insert(name.to_owned(), Value::Map(merged));
        Ok(())
    }

    /// The services of another file, in their long form, paths relative to this one.
    fn services_of(
        &self,
        name: &str,
        wanted: &str,
        other: &str,
    ) -> Result<(Map, Resets), ComposeError> {
        let path = self.loader.locate(other);
        let directory = self.loader.directory(other);
        let mut loader = self.loader.clone();
        loader.base = files::dir(&path);
        loader.purpose = Purpose::Extends;
        let file = ConfigFile { name: path.clone(), content: None };
        let (mut tree, resets) = loader.load_file(&file, self.details, Map::new(), &[])?;
        let problem = |text: &str| {
            ComposeError::new(format!("cannot extend service {} in {text}", quote(name)))
        };
        match tree.get("services") {
            None => return Err(problem(&format!("{path}: no services section"))),
            Some(Value::Map(services)) if services.contains_key(wanted) => {}
            Some(Value::Map(_)) => {
                return Err(problem(&format!(
                    "{}: service {} not found in {other}",
                    self.file,
                    quote(wanted)
                )));
            }
            Some(_) => return Err(problem(&format!("{path}: services must be a mapping"))),
        }
        self.loader.resolve_paths(&mut tree, &directory)?;
        match tree.shift_remove("services") {
            Some(Value::Map(services)) => Ok((services, resets)),
            _ => Ok((Map::new(), resets)),
        }
    }
}

/// Adds a link to the chain; it must not be part of it already.
fn follow(chain: &mut Vec<Link>, file: &str, service: &str) -> Result<(), ComposeError> {
    let link = (file.to_owned(), service.to_owned());
    if chain.contains(&link) || chain.len() > MAX_CHAIN {
        let mut lines = vec!["Circular reference:".to_owned()];
        chain.push(link);
        for (at, (file, service)) in chain.iter().enumerate() {
            let verb = if at == 0 { "" } else { "extends " };
            lines.push(format!("  {verb}{service} in {file}"));
        }
        return Err(ComposeError::new(lines.join("\n")));
    }
    chain.push(link);
    Ok(())
}
