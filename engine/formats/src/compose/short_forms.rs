//! The one-line forms of volumes and ports.

use std::net::IpAddr;

use super::ComposeError;
use super::value::{Map, Value};

/// A `source:target:options` volume.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Volume {
    source: String,
    pub(super) target: String,
    read_only: bool,
    nocopy: bool,
    propagation: String,
    selinux: String,
}

const PROPAGATIONS: &[&str] = &["rprivate", "private", "rshared", "shared", "rslave", "slave"];

/// Reads the one-line form of a volume.
pub(super) fn parse_volume(spec: &str) -> Result<Volume, ComposeError> {
    let mut volume = Volume::default();
    match spec.len() {
        0 => return Err(ComposeError::new("invalid empty volume spec")),
        1 | 2 => return Ok(Volume { target: spec.to_owned(), ..volume }),
        _ => {}
    }
    let mut section = String::new();
    let mut open_variables = 0;
    let mut chars = spec.chars().peekable();
    loop {
        let next = chars.next();
        match next {
            Some('$') if chars.peek() == Some(&'{') => {
                open_variables += 1;
                section.push('$');
            }
            Some('}') if open_variables > 0 => {
                open_variables -= 1;
                section.push('}');
            }
            Some(':') if is_drive(&section) => section.push(':'),
            Some(':') | None if open_variables == 0 => {
                volume.take(&section, next.is_none()).map_err(|reason| {
                    ComposeError::new(format!("invalid spec: {spec}: {reason}"))
                })?;
                section.clear();
            }
            Some(c) => section.push(c),
            None => {}
        }
        if next.is_none() {
            return Ok(volume);
        }
    }
}

/// Whether what was read is a Windows drive letter, so that its colon separates nothing.
fn is_drive(section: &str) -> bool {
    let mut chars = section.chars();
    chars.next().is_some_and(char::is_alphabetic) && chars.next().is_none()
}

impl Volume {
    fn take(&mut self, section: &str, last: bool) -> Result<(), &'static str> {
        if section.is_empty() {
            return Err("empty section between colons");
        }
        if self.source.is_empty() && last {
            section.clone_into(&mut self.target);
        } else if self.source.is_empty() {
            section.clone_into(&mut self.source);
        } else if self.target.is_empty() {
            section.clone_into(&mut self.target);
        } else if !last {
            return Err("too many colons");
        } else {
            for option in section.split(',') {
                match option {
                    "ro" => self.read_only = true,
                    "rw" => self.read_only = false,
                    "nocopy" => self.nocopy = true,
                    "z" | "Z" => option.clone_into(&mut self.selinux),
                    option if PROPAGATIONS.contains(&option) => {
                        option.clone_into(&mut self.propagation);
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// The long form.
    pub(super) fn into_value(self, spec: &str) -> Value {
        let bind = is_file_path(&self.source);
        let mut map = Map::new();
        let mut put = |key: &str, value: Value| map.insert(key.to_owned(), value);
        put("type", Value::str(if bind { "bind" } else { "volume" }));
        if !self.source.is_empty() {
            put("source", Value::Str(self.source));
        }
        if !self.target.is_empty() {
            put("target", Value::Str(super::files::clean(&self.target)));
        }
        if self.read_only {
            put("read_only", Value::Bool(true));
        }
        if bind || !self.selinux.is_empty() || !self.propagation.is_empty() {
            let mut options = Map::new();
            if !self.selinux.is_empty() {
                options.insert("selinux".to_owned(), Value::Str(self.selinux));
            }
            if !self.propagation.is_empty() {
                options.insert("propagation".to_owned(), Value::Str(self.propagation));
            }
            if bind {
                options.insert("create_host_path".to_owned(), Value::Bool(true));
            }
            put("bind", Value::Map(options));
        }
        if self.nocopy || (!bind && spec.len() > 2) {
            let mut options = Map::new();
            if self.nocopy {
                options.insert("nocopy".to_owned(), Value::Bool(true));
            }
            put("volume", Value::Map(options));
        }
        Value::Map(map)
    }
}

fn is_file_path(source: &str) -> bool {
    if source.starts_with(['.', '/', '~']) || source.starts_with("\\\\") {
        return true;
    }
    let mut chars = source.chars();
    chars.next().is_some_and(char::is_alphabetic) && chars.next() == Some(':')
}

/// Reads the one-line form of a port, which may stand for a range of them.
pub(super) fn parse_ports(spec: &str) -> Result<Vec<Value>, ComposeError> {
    let fail = |message: String| Err(ComposeError::new(message));
    let (address, host, container) = split_port(spec);
    let (container, protocol) = match container.split_once('/') {
        Some((port, "")) => (port, "tcp".to_owned()),
        Some((port, protocol)) => (port, protocol.to_lowercase()),
        None => (container, "tcp".to_owned()),
    };
    let protocol = if container.is_empty() { String::new() } else { protocol };
    if !matches!(protocol.as_str(), "tcp" | "udp" | "sctp") {
        return fail(format!("invalid proto: {protocol}"));
    }
    let address = match address.strip_prefix('[') {
        Some(inner) => inner.strip_suffix(']').unwrap_or(inner).to_owned(),
        None => address,
    };
    if !address.is_empty() && !is_ip(&address) {
        return fail(format!("invalid IP address: {address}"));
    }
    let Some((first, last)) = port_range(container) else {
        return fail(format!("invalid containerPort: {container}"));
    };
    let published = if host.is_empty() {
        None
    } else {
        let Some(range) = port_range(&host) else {
            return fail(format!("invalid hostPort: {host}"));
        };
        if last - first != range.1 - range.0 && last != first {
            return fail(format!(
                "invalid ranges specified for container and host Ports: {container} and {host}"
            ));
        }
        Some(range)
    };
    Ok(in_key_order(first, last)
        .into_iter()
        .map(|port| port_value(&address, &protocol, port, port - first, first == last, published))
        .collect())
}

/// Compose lists the ports of a range in the order of their spelling, not of their numbers.
fn in_key_order(first: u16, last: u16) -> Vec<u16> {
    let mut ports: Vec<u16> = (first..=last).collect();
    ports.sort_by_cached_key(|port| format!("{port}/"));
    ports
}

fn port_value(
    address: &str,
    protocol: &str,
    target: u16,
    offset: u16,
    single: bool,
    published: Option<(u16, u16)>,
) -> Value {
    let mut map = Map::from([("mode".to_owned(), Value::str("ingress"))]);
    if !address.is_empty() {
        map.insert("host_ip".to_owned(), Value::str(address));
    }
    if target != 0 {
        map.insert("target".to_owned(), Value::Int(target.into()));
    }
    if let Some((from, to)) = published {
        let text = if single && from != to {
            format!("{from}-{to}")
        } else {
            (u32::from(from) + u32::from(offset)).to_string()
        };
        map.insert("published".to_owned(), Value::Str(text));
    }
    map.insert("protocol".to_owned(), Value::str(protocol));
    Value::Map(map)
}

fn split_port(spec: &str) -> (String, String, &str) {
    let parts: Vec<&str> = spec.split(':').collect();
    match parts.as_slice() {
        [address @ .., host, container] => (address.join(":"), (*host).to_owned(), container),
        _ => (String::new(), String::new(), spec),
    }
}

fn port_range(text: &str) -> Option<(u16, u16)> {
    let number = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| text.parse::<u16>().ok()).flatten()
    };
    let mut parts = text.split('-');
    let first = number(parts.next()?)?;
    let last = match parts.next() {
        Some(last) => number(last)?,
        None => first,
    };
    (last >= first).then_some((first, last))
}

/// Whether `text` is an address; scopes such as `%eth0` are none of it.
pub(super) fn is_ip(text: &str) -> bool {
    text.parse::<IpAddr>().is_ok()
}
