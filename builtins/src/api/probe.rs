//! Readiness probes as values.

use std::{
    fmt::{self, Write as _},
    hash::Hash as _,
};

use builtins_language::{
    AllocList, ApiValue, Args, BuiltinsExt, EvalResult, Evaluator, FromArg, GlobalsBuilder, Heap,
    Mismatch, Outcome, Site, Value, ValueHasher, ValueLike, api_value, raise, raise_at, repr,
    type_name,
};
use engine_formats::golang::quote::quote;
use engine_model::{ExecAction, HttpGetAction, Probe, TcpSocketAction};

use super::{
    arguments::{Arguments as _, arguments},
    coerce::{OrNone, StrSequence, go_type},
};

pub(super) fn register(builder: &mut GlobalsBuilder) {
    builder.function("probe", probe);
    builder.function("exec_action", exec_action);
    builder.function("http_get_action", http_get_action);
    builder.function("tcp_socket_action", tcp_socket_action);
}

/// An attribute of one of the values below.
enum Attr {
    Int(i64),
    Text(String),
    Texts(Vec<String>),
    Exec(ExecValue),
    HttpGet(HttpGetValue),
    TcpSocket(TcpSocketValue),
    None,
}

impl Attr {
    fn alloc(self, heap: Heap<'_>) -> Value<'_> {
        match self {
            Self::Int(it) => heap.alloc(it),
            Self::Text(it) => heap.alloc(it),
            Self::Texts(it) => heap.alloc(AllocList(it)),
            Self::Exec(it) => heap.alloc(it),
            Self::HttpGet(it) => heap.alloc(it),
            Self::TcpSocket(it) => heap.alloc(it),
            Self::None => Value::new_none(),
        }
    }
}

impl Attr {
    fn write_hash(&self, hasher: &mut ValueHasher) -> EvalResult<()> {
        match self {
            Self::Int(it) => it.hash(hasher),
            Self::Text(it) => it.hash(hasher),
            Self::Texts(_) => return Err(raise_at(Site::Operator, "unhashable type: list")),
            Self::Exec(it) => it.write_hash(hasher)?,
            Self::HttpGet(it) => it.write_hash(hasher)?,
            Self::TcpSocket(it) => it.write_hash(hasher)?,
            Self::None => {}
        }
        Ok(())
    }
}

impl fmt::Display for Attr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(it) => it.fmt(f),
            Self::Text(it) => f.write_str(&quote(it)),
            Self::Texts(items) => {
                let items: Vec<String> = items.iter().map(|it| quote(it)).collect();
                write!(f, "[{}]", items.join(", "))
            }
            Self::Exec(it) => it.fmt(f),
            Self::HttpGet(it) => it.fmt(f),
            Self::TcpSocket(it) => it.fmt(f),
            Self::None => f.write_str("None"),
        }
    }
}

/// Makes a type a value with attributes that is printed like a struct.
macro_rules! struct_like {
    ($value:ident, $name:tt) => {
        api_value!($value);

        impl fmt::Display for $value {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!($name, "("))?;
                for (index, (name, attr)) in self.attrs().into_iter().enumerate() {
                    write!(f, "{}{name} = {attr}", if index > 0 { ", " } else { "" })?;
                }
                f.write_char(')')
            }
        }

        impl ApiValue for $value {
            const TYPE: &'static str = $name;

            fn attr<'v>(&self, name: &str, heap: Heap<'v>) -> Option<Value<'v>> {
                let found = self.attrs().into_iter().find(|(attr, _)| *attr == name);
                found.map(|(_, attr)| attr.alloc(heap))
            }

            fn attr_names(&self) -> Vec<String> {
                self.attrs().into_iter().map(|(name, _)| name.to_owned()).collect()
            }

            fn struct_constructor(&self) -> Option<&'static str> {
                Some($name)
            }

            fn write_hash(&self, hasher: &mut ValueHasher) -> EvalResult<()> {
                self.attrs().iter().try_for_each(|(_, attr)| attr.write_hash(hasher))
            }
        }

        impl<'v> FromArg<'v> for OrNone<$value> {
            fn from_arg(value: Value<'v>, _: &mut Evaluator<'v, '_, '_>) -> Result<Self, Mismatch> {
                match value.downcast_ref::<$value>() {
                    Some(it) => Ok(Self(Some(it.clone()))),
                    None if value.is_none() => Ok(Self(None)),
                    None => Err(format!("got {}, want {}", go_type(value), $name).into()),
                }
            }
        }
    };
}

/// What `exec_action(...)` returns.
#[derive(Clone, Debug, Default)]
struct ExecValue {
    command: Vec<String>,
}

struct_like!(ExecValue, "ExecAction");

impl ExecValue {
    fn attrs(&self) -> Vec<(&'static str, Attr)> {
        vec![("command", Attr::Texts(self.command.clone()))]
    }
}

/// What `http_get_action(...)` returns.
#[derive(Clone, Debug, Default)]
struct HttpGetValue {
    host: String,
    path: String,
    port: i64,
    scheme: String,
}

struct_like!(HttpGetValue, "HTTPGetAction");

impl HttpGetValue {
    fn attrs(&self) -> Vec<(&'static str, Attr)> {
        vec![
            ("host", Attr::Text(self.host.clone())),
            ("path", Attr::Text(self.path.clone())),
            ("port", Attr::Int(self.port)),
            ("scheme", Attr::Text(self.scheme.clone())),
        ]
    }
}

/// What `tcp_socket_action(...)` returns.
#[derive(Clone, Debug, Default)]
struct TcpSocketValue {
    host: String,
    port: i64,
}

struct_like!(TcpSocketValue, "TCPSocketAction");

impl TcpSocketValue {
    fn attrs(&self) -> Vec<(&'static str, Attr)> {
        vec![("host", Attr::Text(self.host.clone())), ("port", Attr::Int(self.port))]
    }
}

/// What `probe(...)` returns.
#[derive(Clone, Debug, Default)]
struct ProbeValue {
    exec: Option<ExecValue>,
    failure_threshold: i32,
    http_get: Option<HttpGetValue>,
    initial_delay_secs: i32,
    period_secs: i32,
    success_threshold: i32,
    tcp_socket: Option<TcpSocketValue>,
    timeout_secs: i32,
}

struct_like!(ProbeValue, "Probe");

impl ProbeValue {
    fn attrs(&self) -> Vec<(&'static str, Attr)> {
        let int = |it: i32| Attr::Int(i64::from(it));
        vec![
            ("exec", self.exec.clone().map_or(Attr::None, Attr::Exec)),
            ("failure_threshold", int(self.failure_threshold)),
            ("http_get", self.http_get.clone().map_or(Attr::None, Attr::HttpGet)),
            ("initial_delay_secs", int(self.initial_delay_secs)),
            ("period_secs", int(self.period_secs)),
            ("success_threshold", int(self.success_threshold)),
            ("tcp_socket", self.tcp_socket.clone().map_or(Attr::None, Attr::TcpSocket)),
            ("timeout_secs", int(self.timeout_secs)),
        ]
    }

    fn spec(&self) -> Probe {
        Probe {
            exec: self.exec.as_ref().map(|it| ExecAction { command: it.command.clone() }),
            http_get: self.http_get.as_ref().map(|it| HttpGetAction {
                path: it.path.clone(),
                port: wrap(it.port),
                host: it.host.clone(),
                scheme: it.scheme.to_uppercase(),
                http_headers: Vec::new(),
            }),
            tcp_socket: self
                .tcp_socket
                .as_ref()
                .map(|it| TcpSocketAction { port: wrap(it.port), host: it.host.clone() }),
            initial_delay_seconds: self.initial_delay_secs,
            timeout_seconds: self.timeout_secs,
            period_seconds: self.period_secs,
            success_threshold: self.success_threshold,
            failure_threshold: self.failure_threshold,
        }
    }
}

/// The reference cuts ports to 32 bits without a look.
#[expect(clippy::cast_possible_truncation, reason = "that is what the reference does")]
fn wrap(port: i64) -> i32 {
    port as i32
}

/// A probe, or `None` for none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProbeArg(pub(crate) Option<Probe>);

impl<'v> FromArg<'v> for ProbeArg {
    fn from_arg(value: Value<'v>, eval: &mut Evaluator<'v, '_, '_>) -> Result<Self, Mismatch> {
        Ok(Self(OrNone::<ProbeValue>::from_arg(value, eval)?.0.map(|it| it.spec())))
    }
}

/// An integer of 32 bits, whose refusal is worded unlike that of other integers.
#[derive(Default)]
struct Int32(i32);

impl<'v> FromArg<'v> for Int32 {
    fn from_arg(value: Value<'v>, _: &mut Evaluator<'v, '_, '_>) -> Result<Self, Mismatch> {
        match value.unpack_i32() {
            Some(int) => Ok(Self(int)),
            None if type_name(value) == "int" => {
                Err(format!("value out of range for int32: {}", repr(value)).into())
            }
            None => Err(format!("got {}, want int", type_name(value)).into()),
        }
    }
}

arguments! {
    struct ProbeArgs {
        initial_delay: Int32 = "initial_delay_secs?",
        timeout: Int32 = "timeout_secs?",
        period: Int32 = "period_secs?",
        successes: Int32 = "success_threshold?",
        failures: Int32 = "failure_threshold?",
        exec: OrNone<ExecValue> = "exec?",
        http_get: OrNone<HttpGetValue> = "http_get?",
        tcp_socket: OrNone<TcpSocketValue> = "tcp_socket?",
    }
}

/// `probe(...)`: when a server counts as ready.
fn probe<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let given = ProbeArgs::unpack(eval, &args)?;
    let (exec, http_get, tcp_socket) = (given.exec.0, given.http_get.0, given.tcp_socket.0);
    let actions = [exec.is_some(), http_get.is_some(), tcp_socket.is_some()];
    if actions.into_iter().filter(|it| *it).count() != 1 {
        return Err(raise("exactly one of exec, http_get, or tcp_socket must be specified"));
    }
    Ok(eval.heap().alloc(ProbeValue {
        exec,
        failure_threshold: given.failures.0,
        http_get,
        initial_delay_secs: given.initial_delay.0,
        period_secs: given.period.0,
        success_threshold: given.successes.0,
        tcp_socket,
        timeout_secs: given.timeout.0,
    }))
}

/// `exec_action(command)`.
fn exec_action<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let command: StrSequence = args.only(eval, "command")?;
    Ok(eval.heap().alloc(ExecValue { command: command.0 }))
}

/// `http_get_action(port, host="", scheme="", path="")`.
fn http_get_action<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let [mut host, mut scheme, mut path] = [const { String::new() }; 3];
    let mut port = 0_i64;
    args.unpack(
        eval,
        &mut [
            ("port", &mut port),
            ("host?", &mut host),
            ("scheme?", &mut scheme),
            ("path?", &mut path),
        ],
    )?;
    Ok(eval.heap().alloc(HttpGetValue { host, path, port, scheme }))
}

/// `tcp_socket_action(port, host="")`.
fn tcp_socket_action<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let (mut port, mut host) = (0_i64, String::new());
    args.unpack(eval, &mut [("port", &mut port), ("host?", &mut host)])?;
    Ok(eval.heap().alloc(TcpSocketValue { host, port }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_is_printed_like_a_struct_with_sorted_fields() {
        let exec = Some(ExecValue { command: vec!["x".to_owned(), "\"y".to_owned()] });
        let probe = ProbeValue { exec, period_secs: 7, ..ProbeValue::default() };
        assert_eq!(
            probe.to_string(),
            r#"Probe(exec = ExecAction(command = ["x", "\"y"]), failure_threshold = 0, http_get = None, initial_delay_secs = 0, period_secs = 7, success_threshold = 0, tcp_socket = None, timeout_secs = 0)"#
        );
    }

    #[test]
    fn the_spec_has_an_upper_case_scheme_and_a_port_of_32_bits() {
        let http_get = HttpGetValue {
            host: String::new(),
            path: "/h".to_owned(),
            port: (1 << 32) + 80,
            scheme: "https".to_owned(),
        };
        let probe = ProbeValue { http_get: Some(http_get), ..ProbeValue::default() };
        let spec = probe.spec().http_get.unwrap();
        assert_eq!((spec.scheme.as_str(), spec.port), ("HTTPS", 80));
    }
}
