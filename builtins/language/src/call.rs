//! Decides what is said when the arguments of a call do not fit a function written in a Tiltfile,
//! and how Rust calls such functions.

use engine_formats::golang::{quote::quote, spell::similar};
use starlark::{
    eval::Evaluator,
    values::{
        Value,
        dict::{AllocDict, DictRef},
    },
};

use super::{
    args::Args,
    crate_words as words,
    error::{Complaint, Mistake, Site, raise, raise_at},
    exec, memory,
    native::{HelperFn, Outcome},
    rewrite::{DefInfo, ParamInfo, ParamKind, mangle},
    value,
    value::type_name,
};

/// Calls a function or builtin.
pub fn call<'v>(
    eval: &mut Evaluator<'v, '_, '_>,
    function: Value<'v>,
    positional: &[Value<'v>],
    named: &[(&str, Value<'v>)],
) -> Outcome<'v> {
    if !value::is_callable(function) {
        let message = format!("invalid call of non-function ({})", type_name(function));
        return Err(raise_at(Site::Call, message));
    }
    if let Some(spec) = function.parameters_spec() {
        let keywords: Vec<&str> = named.iter().map(|(name, _)| *name).collect();
        if !spec.can_fill_with_args(positional.len(), &keywords) {
            let name = function.function_name().unwrap_or("lambda");
            let given = Given {
                positional: positional.len(),
                named: keywords.iter().map(|name| (*name).to_owned()).collect(),
                ..Given::default()
            };
            if let Some(why) = given.mismatch(name, &parse_params(&spec.parameters_str())) {
                return Err(why.raise_in_callee(name.to_owned()));
            }
        }
    }
    eval.eval_function(function, positional, named)
}

/// Calls whatever the attribute of a rewritten method call is.
pub(crate) fn call_args<'v>(
    eval: &mut Evaluator<'v, '_, '_>,
    function: Value<'v>,
    args: &Args<'v>,
) -> Outcome<'v> {
    let mangled: Vec<_> = args.named.iter().map(|(name, v)| (mangle(name), *v)).collect();
    let named: Vec<_> = mangled.iter().map(|(name, v)| (name.as_ref(), *v)).collect();
    call(eval, function, &args.positional, &named)
}

/// What rewritten text calls around spread arguments.
pub(crate) const HELPERS: &[(&str, HelperFn)] = &[
    ("__starargs__", |eval, args| {
        let [x] = args.positional(eval.heap())?;
        if value::is_iterable(x, eval.heap()) {
            let len = value::length(x).and_then(|len| usize::try_from(len).ok());
            memory::reserve(len.unwrap_or_default().saturating_mul(32)).map_err(raise)?;
            exec::interpreter(eval)?.note_spread(|spread| spread.positional = len);
            return Ok(x);
        }
        let message = format!("argument after * must be iterable, not {}", type_name(x));
        Err(raise_at(Site::Operator, message))
    }),
    ("__kwargs__", |eval, args| {
        let [x] = args.positional(eval.heap())?;
        let Some(entries) = value::mapping(x, eval.heap()) else {
            let message = format!("argument after ** must be a mapping, not {}", type_name(x));
            return Err(raise_at(Site::Operator, message));
        };
        match entries.iter().find(|(key, _)| key.unpack_str().is_none()) {
            None => {
                let names =
                    entries.iter().filter_map(|(key, _)| key.unpack_str()).map(str::to_owned);
                exec::interpreter(eval)?.note_spread(|spread| spread.named = Some(names.collect()));
                if DictRef::from_value(x).is_some() {
                    Ok(x)
                } else {
                    Ok(eval.heap().alloc(AllocDict(entries)))
                }
            }
            Some((key, _)) => {
                let message = format!("keywords must be strings, not {}", type_name(*key));
                Err(raise_at(Site::Operator, message))
            }
        }
    }),
];

/// What the last `*` and `**` arguments of a call held; only calls that fail ask.
#[derive(Debug, Default, Clone)]
pub(crate) struct Spread {
    pub(crate) positional: Option<usize>,
    pub(crate) named: Option<Vec<String>>,
}

/// The arguments of a call, as far as they are known.
#[derive(Debug, Default, Clone)]
pub(crate) struct Given {
    pub(crate) positional: usize,
    pub(crate) named: Vec<String>,
    /// Whether there may be more positional arguments.
    pub(crate) star_args: bool,
    /// Whether there may be more named arguments.
    pub(crate) star_star_args: bool,
}

impl Given {
    /// Completes what is not in the source with what was spread, or failing that with what the
    /// interpreter said about the call.
    pub(crate) fn complete(&mut self, spread: &Spread, params: &[ParamInfo], crate_message: &str) {
        if self.star_args
            && let Some(more) = spread.positional
        {
            self.positional += more;
            self.star_args = false;
        }
        if self.star_star_args
            && let Some(more) = &spread.named
        {
            self.named.extend(more.iter().cloned());
            self.star_star_args = false;
        }
        let quoted: Vec<&str> = crate_message.split('`').skip(1).step_by(2).collect();
        let slots = params.iter().filter(|p| is_positional(p.kind)).count();
        if self.star_args {
            let extra = crate_message
                .strip_prefix(words::FOUND)
                .and_then(|rest| rest.split_once(words::EXTRA_POSITIONAL))
                .and_then(|(count, _)| count.parse::<usize>().ok());
            if let Some(extra) = extra {
                self.positional = slots + extra;
            } else if crate_message.starts_with(words::MISSING) {
                let missing = params.iter().position(|p| quoted.first() == Some(&p.name.as_str()));
                self.positional = self.positional.max(missing.unwrap_or_default().min(slots));
            }
        }
        if self.star_star_args && crate_message.starts_with(words::REPEATED_ARGUMENT) {
            self.named.extend(quoted.first().map(|name| (*name).to_owned()));
        }
        if self.star_star_args && crate_message.contains(words::EXTRA_NAMED) {
            let known = self.named.clone();
            let more = quoted.into_iter().filter(|name| !known.iter().any(|k| k == name));
            self.named.extend(more.map(str::to_owned));
        }
    }

    /// What is wrong with the call of a function with these parameters.
    pub(crate) fn mismatch(&self, name: &str, params: &[ParamInfo]) -> Option<Complaint> {
        let has = |kind| params.iter().any(|p| p.kind == kind);
        let ordinary: Vec<&ParamInfo> = params.iter().filter(|p| is_ordinary(p.kind)).collect();
        let slots = ordinary.iter().filter(|p| is_positional(p.kind)).count();
        let (has_args, has_kwargs) = (has(ParamKind::StarArgs), has(ParamKind::StarStarArgs));
        if ordinary.is_empty() && !has_args && !has_kwargs {
            let given = self.positional + self.named.len();
            return (given > 0)
                .then(|| format!("function {name} accepts no arguments ({given} given)").into());
        }
        if self.positional > slots && !has_args {
            let at_most = if has(ParamKind::Optional) { "at most " } else { "" };
            let plural = if slots == 1 { "" } else { "s" };
            let given = self.positional;
            return Some(Complaint::from(format!(
                "function {name} accepts {at_most}{slots} positional argument{plural} \
                 ({given} given)"
            )));
        }
        let mut filled: Vec<bool> = (0..ordinary.len())
            .map(|i| i < self.positional && is_positional(ordinary[i].kind))
            .collect();
        let mut surplus: Vec<&str> = Vec::new();
        for keyword in &self.named {
            let multiple = || {
                let keyword = quote(keyword);
                let message =
                    format!("function {name} got multiple values for parameter {keyword}");
                Some(Complaint::from(message))
            };
            if let Some(i) = ordinary.iter().position(|p| p.name == *keyword) {
                if std::mem::replace(&mut filled[i], true) {
                    return multiple();
                }
            } else if !has_kwargs {
                return Some(unexpected_keyword(name, keyword, params));
            } else if surplus.contains(&keyword.as_str()) {
                return multiple();
            } else {
                surplus.push(keyword);
            }
        }
        let missing: Vec<&str> = ordinary
            .iter()
            .zip(&filled)
            .filter(|(p, filled)| !**filled && is_required(p.kind))
            .map(|(p, _)| p.name.as_str())
            .collect();
        if missing.is_empty() {
            return None;
        }
        let plural = if missing.len() > 1 { "s" } else { "" };
        let (n, names) = (missing.len(), missing.join(", "));
        Some(format!("function {name} missing {n} argument{plural} ({names})").into())
    }
}

fn unexpected_keyword(name: &str, keyword: &str, params: &[ParamInfo]) -> Complaint {
    let message = format!("function {name} got an unexpected keyword argument {}", quote(keyword));
    let names = params.iter().filter(|it| is_ordinary(it.kind)).map(|it| it.name.as_str());
    Complaint::new(message, Some(Mistake::UnexpectedKeyword)).meaning(similar(keyword, names))
}

fn is_ordinary(kind: ParamKind) -> bool {
    !matches!(kind, ParamKind::StarArgs | ParamKind::BareStar | ParamKind::StarStarArgs)
}

fn is_positional(kind: ParamKind) -> bool {
    matches!(kind, ParamKind::Required | ParamKind::Optional)
}

fn is_required(kind: ParamKind) -> bool {
    matches!(kind, ParamKind::Required | ParamKind::KeywordOnlyRequired)
}

/// Reads the crate's description of parameters, such as `a, b = ..., *, c, **d`.
fn parse_params(description: &str) -> Vec<ParamInfo> {
    let mut keyword_only = false;
    let params = description.split(',').map(str::trim).filter(|p| !p.is_empty() && *p != "/");
    params
        .map(|param| {
            let (name, optional) = match param.split_once('=') {
                Some((name, _)) => (name.trim(), true),
                None => (param, false),
            };
            let kind = if name.starts_with("**") {
                ParamKind::StarStarArgs
            } else if name.starts_with('*') {
                keyword_only = true;
                if name == "*" { ParamKind::BareStar } else { ParamKind::StarArgs }
            } else {
                match (keyword_only, optional) {
                    (false, false) => ParamKind::Required,
                    (false, true) => ParamKind::Optional,
                    (true, false) => ParamKind::KeywordOnlyRequired,
                    (true, true) => ParamKind::KeywordOnlyOptional,
                }
            };
            ParamInfo { name: name.trim_start_matches('*').to_owned(), kind }
        })
        .collect()
}

/// Words a failed binding from the crate's message alone.
pub(crate) fn describe(
    name: &str,
    crate_message: &str,
    def: Option<&DefInfo>,
) -> Option<Complaint> {
    let first = crate_message.split('`').nth(1).map(str::to_owned);
    if crate_message.starts_with(words::REPEATED_ARGUMENT) {
        let parameter = quote(&first?);
        let message = format!("function {name} got multiple values for parameter {parameter}");
        return Some(message.into());
    }
    if crate_message.starts_with(words::MISSING) {
        return Some(format!("function {name} missing 1 argument ({})", first?).into());
    }
    if crate_message.contains(words::EXTRA_NAMED) {
        let params = def.map_or(&[][..], |it| &it.params);
        return Some(unexpected_keyword(name, &first?, params));
    }
    let extra = crate_message.strip_prefix(words::FOUND)?.split_once(words::EXTRA_POSITIONAL)?.0;
    let slots = def?.params.iter().filter(|p| is_positional(p.kind)).count();
    let given = slots + extra.parse::<usize>().ok()?;
    Given { positional: given, ..Given::default() }.mismatch(name, &def?.params)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(params: &str, positional: usize, named: &[&str], expected: Option<&str>) {
        let named = named.iter().map(|name| (*name).to_owned()).collect();
        let given = Given { positional, named, ..Given::default() };
        let found = given.mismatch("f", &parse_params(params)).map(|it| it.message);
        assert_eq!(found.as_deref(), expected, "{params}");
    }

    #[test]
    fn binding_errors_have_the_words_of_the_reference() {
        check("", 2, &[], Some("function f accepts no arguments (2 given)"));
        check("a, b", 1, &[], Some("function f missing 1 argument (b)"));
        check("a, b, c", 0, &["b"], Some("function f missing 2 arguments (a, c)"));
        check("a", 3, &[], Some("function f accepts 1 positional argument (3 given)"));
        check(
            "a, b = ...",
            3,
            &[],
            Some("function f accepts at most 2 positional arguments (3 given)"),
        );
        check("a, b = ...", 1, &["a"], Some("function f got multiple values for parameter \"a\""));
        check("a", 0, &["x"], Some("function f got an unexpected keyword argument \"x\""));
        check("*, a, b = ...", 0, &[], Some("function f missing 1 argument (a)"));
        check("*, a", 1, &[], Some("function f accepts 0 positional arguments (1 given)"));
        check("*args, **kwargs", 5, &["x"], None);
        check(
            "**kwargs",
            0,
            &["a", "a"],
            Some("function f got multiple values for parameter \"a\""),
        );
    }
}
