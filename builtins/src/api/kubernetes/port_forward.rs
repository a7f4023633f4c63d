//! Parses port forwards in all supported forms.

use std::{fmt, sync::LazyLock};

use builtins_language::{
    ApiValue, Args, Evaluator, Heap, Int, Mismatch, Outcome, Value, ValueLike, api_value, raise,
    repr,
};
use engine_formats::golang::{quote::quote, url::Url};
use engine_model::Forward;
use regex::Regex;

use super::super::{
    arguments::{Arguments as _, arguments},
    coerce::{go_type, sequence},
};

static HOST: LazyLock<Regex> = LazyLock::new(|| {
    let number = r"([0-9]|[1-9][0-9]|1[0-9]{2}|2[0-4][0-9]|25[0-5])";
    let label = r"([a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9\-]*[a-zA-Z0-9])";
    Regex::new(&format!(r"^(({number}\.){{3}}{number}|({label}\.)*{label})$"))
        .expect("it is a valid expression")
});

/// What `port_forward` returns.
#[derive(Clone, Debug)]
struct PortForwardValue {
    forward: Forward,
}

api_value!(PortForwardValue);

impl fmt::Display for PortForwardValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Forward { local_port, container_port, name, .. } = &self.forward;
        let name = quote(name);
        write!(
            f,
            "port_forward(local_port={local_port}, container_port={container_port}, name={name})"
        )
    }
}

impl ApiValue for PortForwardValue {
    const TYPE: &'static str = "port_forward";

    fn is_true(&self) -> bool {
        self.forward != Forward::default()
    }

    fn is_equal(&self, other: &Self) -> bool {
        self.forward == other.forward
    }
}

arguments! {
    struct ForwardArgs {
        local_port: i64 = "local_port",
        container_port: i64 = "container_port?",
        name: String = "name?",
        path: String = "link_path?",
        host: String = "host?",
    }
}

/// Describes a forwarded port.
pub(super) fn port_forward<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let ForwardArgs { local_port, container_port, name, mut path, host } =
        ForwardArgs::unpack(eval, &args)?;
    if !path.is_empty() {
        let url = Url::parse(&path).map_err(|why| raise(format!("parsing `path` param: {why}")))?;
        let text = url.to_string();
        text.strip_prefix('/').unwrap_or(&text).clone_into(&mut path);
    }
    // The reference cuts ports to 32 bits without a word.
    #[expect(clippy::cast_possible_truncation, reason = "as in the reference")]
    let (local_port, container_port) = (local_port as i32, container_port as i32);
    let forward = Forward { local_port, container_port, host, name, path };
    Ok(eval.heap().alloc(PortForwardValue { forward }))
}

/// One forward or a sequence of them.
///
/// # Errors
/// Names what is none.
pub(super) fn forwards<'v>(value: Value<'v>, heap: Heap<'v>) -> Result<Vec<Forward>, Mismatch> {
    if value.is_none() {
        return Ok(Vec::new());
    }
    if let Some(forward) = single(value) {
        return Ok(vec![forward?]);
    }
    let Some(items) = sequence(value, heap) else {
        let found = go_type(value);
        return Err(Mismatch(format!(
            "port_forwards must be an int, a port_forward, or a sequence of those; is a {found}"
        )));
    };
    let convert = |item: Value<'v>| {
        single(item).unwrap_or_else(|| {
            let (all, item, found) = (repr(value), repr(item), go_type(item));
            Err(Mismatch(format!(
                "port_forwards arg {all} includes element {item} which must be an int or a port_forward; is a {found}"
            )))
        })
    };
    items.into_iter().map(convert).collect()
}

fn single(value: Value<'_>) -> Option<Result<Forward, Mismatch>> {
    if let Some(int) = Int::of(value) {
        return Some(from_int(&int));
    }
    if let Some(text) = value.unpack_str() {
        return Some(from_text(text));
    }
    Some(Ok(value.downcast_ref::<PortForwardValue>()?.forward.clone()))
}

fn from_int(int: &Int) -> Result<Forward, Mismatch> {
    let Some(port) = int.to_i64() else {
        let message = format!("portForward port value {int} is not representable as an int64");
        return Err(Mismatch(message));
    };
    match u16::try_from(port) {
        Ok(port) => Ok(Forward { local_port: i32::from(port), ..Forward::default() }),
        Err(_) => Err(out_of_range(&port.to_string())),
    }
}

/// `LOCAL`, `LOCAL:CONTAINER` or `HOST:LOCAL:CONTAINER`.
fn from_text(text: &str) -> Result<Forward, Mismatch> {
    let parts: Vec<&str> = text.splitn(3, ':').collect();
    let (host, local, container) = match parts.as_slice() {
        [host, local, container] => (*host, *local, Some(*container)),
        [local, container] => ("", *local, Some(*container)),
        _ => ("", text, None),
    };
    if parts.len() == 3 && !HOST.is_match(host) {
        // The reference names the port here, not the host.
        let shown = quote(local);
        return Err(Mismatch(format!(
            "portForward host value {shown} is not a valid hostname or IP address"
        )));
    }
    let local_port = port(local)?;
    let container_port = container.map_or(Ok(0), port)?;
    Ok(Forward { local_port, container_port, host: host.to_owned(), ..Forward::default() })
}

fn port(text: &str) -> Result<i32, Mismatch> {
    let number = text.parse::<i64>().ok().and_then(|it| u16::try_from(it).ok());
    number.map(i32::from).ok_or_else(|| out_of_range(&quote(text)))
}

fn out_of_range(shown: &str) -> Mismatch {
    Mismatch(format!("portForward port value {shown} is not in the valid range [0-65535]"))
}
