//! Decides how a URL falls into parts, with the rules of Go's `net/url`.

use std::fmt::{self, Write as _};

use serde::Serialize;

use super::quote::{quote, quote_bytes};

mod address;

/// The parts of a URL, named as in Go.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Url {
    /// The part before the first colon, in lower case.
    pub scheme: String,
    /// What follows the scheme if that does not start with a slash.
    pub opaque: String,
    /// Name and password, if there is an `@`.
    pub user: Option<Userinfo>,
    /// The host with its port.
    pub host: String,
    /// The path, unescaped.
    pub path: String,
    /// The part after `#`, unescaped.
    pub fragment: String,
    /// The part after `?`, as written.
    pub raw_query: String,
    /// The path as written, if that is not its default encoding.
    pub raw_path: String,
    /// The fragment as written, if that is not its default encoding.
    pub raw_fragment: String,
    /// Whether the URL ends with a `?` without a query.
    pub force_query: bool,
    /// Whether a scheme is followed by a path without the `//` of a host.
    pub omit_host: bool,
}

/// Who accesses a URL. Nothing of it is shown in results.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Userinfo {
    /// The name, unescaped.
    #[serde(skip)]
    pub username: String,
    /// The password, unescaped.
    #[serde(skip)]
    pub password: Option<String>,
}

/// A text that is no URL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("parse {}: {reason}", quote(url))]
pub struct UrlError {
    /// The text, up to a `#` unless the problem is behind it.
    pub url: String,
    /// What is wrong with it.
    pub reason: String,
}

serde_json::derived_to_json!(Url);

type Parsed<T> = Result<T, String>;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Path,
    Host,
    Zone,
    User,
    Fragment,
}

impl Url {
    /// Splits a text into the parts of a URL.
    pub fn parse(text: &str) -> Result<Self, UrlError> {
        let (before, fragment) = text.split_once('#').unwrap_or((text, ""));
        let fail = |url: &str, reason| UrlError { url: url.to_owned(), reason };
        let mut url = Self::parse_before_fragment(before).map_err(|why| fail(before, why))?;
        if !fragment.is_empty() {
            let decoded = unescape(fragment, Part::Fragment).map_err(|why| fail(text, why))?;
            if escape(&decoded, Part::Fragment) != fragment {
                fragment.clone_into(&mut url.raw_fragment);
            }
            url.fragment = decoded.into_text();
        }
        Ok(url)
    }

    fn parse_before_fragment(text: &str) -> Parsed<Self> {
        if text.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
            return Err("net/url: invalid control character in URL".to_owned());
        }
        let mut url = Self::default();
        if text == "*" {
            text.clone_into(&mut url.path);
            return Ok(url);
        }
        let (scheme, mut rest) = split_scheme(text)?;
        url.scheme = scheme.to_lowercase();
        match rest.split_once('?') {
            Some((before, "")) => {
                url.force_query = true;
                rest = before;
            }
            Some((before, query)) => {
                query.clone_into(&mut url.raw_query);
                rest = before;
            }
            None => {}
        }
        if !rest.starts_with('/') {
            if !url.scheme.is_empty() {
                rest.clone_into(&mut url.opaque);
                return Ok(url);
            }
            if first_segment(rest).contains(':') {
                return Err("first path segment in URL cannot contain colon".to_owned());
            }
        }
        let has_host =
            rest.starts_with("//") && (!url.scheme.is_empty() || !rest.starts_with("///"));
        if has_host {
            let after = &rest[2..];
            let (authority, path) = after.split_at(after.find('/').unwrap_or(after.len()));
            (url.user, url.host) = parse_authority(&url.scheme, authority)?;
            rest = path;
        } else if !url.scheme.is_empty() && rest.starts_with('/') {
            url.omit_host = true;
        }
        let path = unescape(rest, Part::Path)?;
        if escape(&path, Part::Path) != rest {
            rest.clone_into(&mut url.raw_path);
        }
        url.path = path.into_text();
        Ok(url)
    }

    fn escaped_path(&self) -> String {
        if let Some(raw) = still_encodes(&self.raw_path, &self.path, Part::Path) {
            return raw.to_owned();
        }
        if self.path == "*" { "*".to_owned() } else { escape(&self.path, Part::Path) }
    }

    fn escaped_fragment(&self) -> String {
        still_encodes(&self.raw_fragment, &self.fragment, Part::Fragment)
            .map_or_else(|| escape(&self.fragment, Part::Fragment), str::to_owned)
    }

    fn write_host_and_path(&self, out: &mut String) {
        let has_user = self.user.is_some();
        let omit = self.omit_host && self.host.is_empty() && !has_user;
        if !omit && (!self.scheme.is_empty() || !self.host.is_empty() || has_user) {
            if !self.host.is_empty() || !self.path.is_empty() || has_user {
                out.push_str("//");
            }
            if let Some(user) = &self.user {
                out.push_str(&user.to_string());
                out.push('@');
            }
            out.push_str(&escape(&self.host, Part::Host));
        }
        let path = self.escaped_path();
        if !path.is_empty() && !path.starts_with('/') && !self.host.is_empty() {
            out.push('/');
        }
        if out.is_empty() && first_segment(&path).contains(':') {
            out.push_str("./");
        }
        out.push_str(&path);
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = String::new();
        if !self.scheme.is_empty() {
            out.push_str(&self.scheme);
            out.push(':');
        }
        if self.opaque.is_empty() {
            self.write_host_and_path(&mut out);
        } else {
            out.push_str(&self.opaque);
        }
        if self.force_query || !self.raw_query.is_empty() {
            out.push('?');
            out.push_str(&self.raw_query);
        }
        if !self.fragment.is_empty() {
            out.push('#');
            out.push_str(&self.escaped_fragment());
        }
        f.write_str(&out)
    }
}

impl fmt::Display for Userinfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&escape(&self.username, Part::User))?;
        match &self.password {
            Some(password) => write!(f, ":{}", escape(password, Part::User)),
            None => Ok(()),
        }
    }
}

/// The encoding as written, if it is valid and still stands for `decoded`.
fn still_encodes<'a>(raw: &'a str, decoded: &str, part: Part) -> Option<&'a str> {
    let valid = |byte: u8| b"!$&'()*+,;=:@[]%".contains(&byte) || !should_escape(byte, part);
    let same = || unescape(raw, part).is_ok_and(|bytes| bytes.into_text() == decoded);
    (!raw.is_empty() && raw.bytes().all(valid) && same()).then_some(raw)
}

fn first_segment(path: &str) -> &str {
    path.split('/').next().unwrap_or_default()
}

fn split_scheme(text: &str) -> Parsed<(&str, &str)> {
    for (i, byte) in text.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if i > 0 => {}
            b':' if i == 0 => return Err("missing protocol scheme".to_owned()),
            b':' => return Ok((&text[..i], &text[i + 1..])),
            _ => break,
        }
    }
    Ok(("", text))
}

fn parse_authority(scheme: &str, authority: &str) -> Parsed<(Option<Userinfo>, String)> {
    let Some((userinfo, host)) = authority.rsplit_once('@') else {
        return Ok((None, parse_host(scheme, authority)?));
    };
    let host = parse_host(scheme, host)?;
    let valid = |c: char| c.is_ascii_alphanumeric() || "-._:~!$&'()*+,;=%@".contains(c);
    if !userinfo.chars().all(valid) {
        return Err("net/url: invalid userinfo".to_owned());
    }
    let (username, password) = match userinfo.split_once(':') {
        Some((username, password)) => (username, Some(password)),
        None => (userinfo, None),
    };
    let username = unescape(username, Part::User)?.into_text();
    let password = password.map(|text| unescape(text, Part::User)).transpose()?;
    let password = password.map(IntoText::into_text);
    Ok((Some(Userinfo { username, password }), host))
}

fn parse_host(scheme: &str, host: &str) -> Parsed<String> {
    if let Some(open) = host.rfind('[') {
        if open > 0 {
            return Err("invalid IP-literal".to_owned());
        }
        return parse_bracketed_host(host);
    }
    if let Some(first) = host.find(':') {
        // Only web addresses have to have a single colon; others may be anything with a port.
        let web = scheme == "http" || scheme == "https";
        let colon = if web { first } else { host.rfind(':').unwrap_or(first) };
        check_port(&host[colon..])?;
    }
    Ok(unescape(host, Part::Host)?.into_text())
}

fn parse_bracketed_host(host: &str) -> Parsed<String> {
    let Some(close) = host.rfind(']') else {
        return Err("missing ']' in host".to_owned());
    };
    let port = &host[close + 1..];
    check_port(port)?;
    let name = &host[1..close];
    let name = match name.find("%25") {
        Some(zone) => {
            let mut bytes = unescape(&name[..zone], Part::Host)?;
            bytes.extend(unescape(&name[zone..], Part::Zone)?);
            bytes
        }
        None => unescape(name, Part::Host)?,
    }
    .into_text();
    if address::check(&name).map_err(|why| format!("invalid host: {why}"))?
        == address::AddressFamily::V4
    {
        return Err("invalid IP-literal".to_owned());
    }
    Ok(format!("[{name}]{port}"))
}

fn check_port(port: &str) -> Parsed<()> {
    let digits = |rest: &str| rest.bytes().all(|byte| byte.is_ascii_digit());
    if port.is_empty() || port.strip_prefix(':').is_some_and(digits) {
        return Ok(());
    }
    Err(format!("invalid port {} after host", quote(port)))
}

fn should_escape(byte: u8, part: Part) -> bool {
    let kept: &[u8] = match part {
        Part::Path => b"$&+,/:;=@",
        Part::Host | Part::Zone => b"!$&'()*+,;=:[]<>\"",
        Part::User => b"$&+,;=",
        Part::Fragment => b"$&+,/:;=?@!()*",
    };
    !(byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) || kept.contains(&byte))
}

fn escape(text: impl AsRef<[u8]>, part: Part) -> String {
    let mut out = String::with_capacity(text.as_ref().len());
    for &byte in text.as_ref() {
        if should_escape(byte, part) {
            write!(out, "%{byte:02X}").expect("writing to a String cannot fail");
        } else {
            out.push(char::from(byte));
        }
    }
    out
}

fn unescape(text: &str, part: Part) -> Parsed<Vec<u8>> {
    let in_host = part == Part::Host || part == Part::Zone;
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes().enumerate();
    while let Some((i, byte)) = bytes.next() {
        if byte != b'%' {
            if in_host && byte.is_ascii() && should_escape(byte, part) {
                let shown = char::from(byte).to_string();
                return Err(format!("invalid character {} in host name", quote(&shown)));
            }
            out.push(byte);
            continue;
        }
        let end = (i + 3).min(text.len());
        let value = text
            .get(i + 1..end)
            .filter(|digits| digits.len() == 2 && digits.bytes().all(|b| b.is_ascii_hexdigit()))
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        let allowed = |value: u8| match part {
            Part::Host => value >= 0x80 || value == b'%',
            Part::Zone => value == b'%' || value == b' ' || !should_escape(value, Part::Host),
            _ => true,
        };
        let Some(value) = value.filter(|value| allowed(*value)) else {
            let shown = quote_bytes(&text.as_bytes()[i..end]);
            return Err(format!("invalid URL escape {shown}"));
        };
        out.push(value);
        bytes.nth(1);
    }
    Ok(out)
}

trait IntoText {
    /// The bytes as text, with every byte that is not UTF-8 replaced, as in Go's JSON.
    fn into_text(self) -> String;
}

impl IntoText for Vec<u8> {
    fn into_text(self) -> String {
        String::from_utf8(self).unwrap_or_else(|error| {
            let mut out = String::new();
            for chunk in error.as_bytes().utf8_chunks() {
                out.push_str(chunk.valid());
                out.extend(chunk.invalid().iter().map(|_| '\u{fffd}'));
            }
            out
        })
    }
}

#[cfg(test)]
mod tests;
