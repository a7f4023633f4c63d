//! Links that let a browser in once: for those whom the engine cannot recognize by themselves.

use std::{
    collections::VecDeque,
    fmt,
    net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket},
    sync::{Arc, Mutex, PoisonError},
};

use super::{access::same_secret, shown_host};
use crate::platform;

/// How many keys may wait to be used; the oldest one is forgotten for the next.
const MAX_KEYS: usize = 16;

/// What a link says before its key.
const NAME: &str = "key";

/// Keys that were given out and not used yet; cheap to clone.
#[derive(Clone, Default)]
pub(super) struct Keys(Arc<Mutex<VecDeque<String>>>);

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys").finish_non_exhaustive()
    }
}

impl Keys {
    /// A new key.
    fn issue(&self) -> String {
        let key = uuid::Uuid::new_v4().simple().to_string();
        let mut keys = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if keys.len() >= MAX_KEYS {
            keys.pop_front();
        }
        keys.push_back(key.clone());
        key
    }

    /// Whether the query of a link has a key that nobody has used yet; from now on, it is used.
    pub(super) fn redeem(&self, query: &str) -> bool {
        let query = crate::server::rest::path::decode_query(query);
        let Some(given) = query.get(NAME) else { return false };
        let mut keys = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = keys.iter().position(|it| same_secret(given.as_bytes(), it.as_bytes()));
        at.and_then(|it| keys.remove(it)).is_some()
    }
}

/// Where people find the page; cheap to clone.
#[derive(Clone, Debug)]
pub struct PageAddress {
    url: String,
    /// The same for others, who may be on another machine.
    outside: String,
    /// Whether a browser of this user gets in without a key.
    is_recognized: bool,
    pub(super) keys: Keys,
}

impl PageAddress {
    /// The page of a port that listens on this host and address.
    pub fn new(host: &str, address: SocketAddr) -> Self {
        let port = address.port();
        let ip = address.ip();
        let outside = if ip.is_unspecified() { own_address().to_string() } else { host.to_owned() };
        Self {
            url: format!("http://{}:{port}/", shown_host(host)),
            outside: format!("http://{}:{port}/", shown_host(&outside)),
            is_recognized: platform::TELLS_PEERS && (ip.is_loopback() || ip.is_unspecified()),
            keys: Keys::default(),
        }
    }

    /// The address without a key.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// A new link that lets anybody in, once.
    pub fn link(&self) -> String {
        format!("{}?{NAME}={}", self.outside, self.keys.issue())
    }

    /// What to open in a browser of this user. Other users see the words that programs are started with, so there is
    /// a key among them only if the browser would not get in without.
    pub fn to_open(&self) -> String {
        if self.is_recognized { self.url.clone() } else { self.link() }
    }

    /// Whether browsers of this user need a key like anybody else.
    pub fn needs_key(&self) -> bool {
        !self.is_recognized
    }
}

/// An address under which other machines may know this one; the loopback address if there is none.
fn own_address() -> IpAddr {
    // Nothing is sent: the system only looks which way it would go, to an address that is reserved for examples.
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0));
    let found = socket.and_then(|it| {
        it.connect((Ipv4Addr::new(192, 0, 2, 1), 9))?;
        it.local_addr()
    });
    found.map_or(IpAddr::from(Ipv4Addr::LOCALHOST), |it| it.ip())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(link: &str) -> String {
        link.split_once('?').unwrap().1.to_owned()
    }

    #[test]
    fn a_key_opens_once_and_only_some_may_wait() {
        let page = PageAddress::new("localhost", "127.0.0.1:10350".parse().unwrap());
        assert_eq!(page.url(), "http://localhost:10350/");
        let links: Vec<String> = (0..=MAX_KEYS).map(|_| page.link()).collect();
        assert!(links.iter().all(|it| it.starts_with("http://localhost:10350/?key=")), "{links:?}");
        for (link, expected) in
            [(&links[0], false), (&links[1], true), (&links[1], false), (&links[MAX_KEYS], true)]
        {
            assert_eq!(page.keys.redeem(&query(link)), expected, "{link}");
        }
        for query in ["", "key", "key=", "key=x", "other=1"] {
            assert!(!page.keys.redeem(query), "{query}");
        }
        assert!(!format!("{page:?}").contains(&query(&links[2])[4..]));
    }

    #[test]
    fn programs_are_told_a_key_only_where_they_need_one() {
        for (host, address, is_needed) in [
            ("localhost", "127.0.0.1:1", !platform::TELLS_PEERS),
            ("::1", "[::1]:1", !platform::TELLS_PEERS),
            ("0.0.0.0", "0.0.0.0:1", !platform::TELLS_PEERS),
            ("192.0.2.7", "192.0.2.7:1", true),
        ] {
            let page = PageAddress::new(host, address.parse().unwrap());
            assert_eq!(page.to_open().contains("key="), is_needed, "{host}");
            assert_eq!(page.needs_key(), is_needed, "{host}");
        }
    }
}
