//! Which user is at the other end of a connection within this machine.
//!
//! Only Linux tells: its tables of connections name the owner of each end. Elsewhere the answer is that nobody knows.

use std::{
    io::BufRead,
    net::{IpAddr, SocketAddr},
};

use nix::unistd::Uid;

/// Whether this system tells who is at the other end of a connection.
pub const TELLS_PEERS: bool = cfg!(target_os = "linux");

/// The user whose process has the other end of a connection, if the system tells. `local` is our own end.
pub fn peer_user(peer: SocketAddr, local: SocketAddr) -> Option<Uid> {
    #[cfg(target_os = "linux")]
    {
        // A table that changes while it is read may lack a line, so it gets another chance.
        (0..2).find_map(|_| {
            let tables = ["/proc/self/net/tcp", "/proc/self/net/tcp6"];
            let mut tables = tables.iter().filter_map(|it| std::fs::File::open(it).ok());
            tables.find_map(|it| owner(std::io::BufReader::new(it), peer, local))
        })
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (peer, local, owner::<&[u8]>);
        None
    }
}

/// The owner of the end `of` a connection that leads `to` the other, by a table of connections. It may have many
/// thousands of lines, so it is read line by line.
fn owner<T: BufRead>(table: T, of: SocketAddr, to: SocketAddr) -> Option<Uid> {
    table.lines().map_while(Result::ok).skip(1).find_map(|line| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let [_, local, remote, _, _, _, _, uid, _, inode, ..] = fields.as_slice() else {
            return None;
        };
        let is_meant = is_same(address(local)?, of) && is_same(address(remote)?, to);
        // An end that its process has closed already is shown without an inode, and as if it were root's.
        (is_meant && *inode != "0").then(|| uid.parse().ok().map(Uid::from_raw)).flatten()
    })
}

/// Whether two addresses are the same, whichever way an IPv4 address is written.
fn is_same(one: SocketAddr, other: SocketAddr) -> bool {
    one.port() == other.port() && one.ip().to_canonical() == other.ip().to_canonical()
}

/// An address of the table: words of 32 bits as this machine stores them, then the port.
fn address(text: &str) -> Option<SocketAddr> {
    let (host, port) = text.split_once(':')?;
    let word = |at: usize| {
        let digits = host.get(at * 8..at * 8 + 8)?;
        u32::from_str_radix(digits, 16).ok().map(u32::to_ne_bytes)
    };
    let ip = match host.len() {
        8 => IpAddr::from(word(0)?),
        32 => {
            let mut bytes = [0; 16];
            for (at, chunk) in bytes.chunks_mut(4).enumerate() {
                chunk.copy_from_slice(&word(at)?);
            }
            IpAddr::from(bytes)
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, u16::from_str_radix(port, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    const TABLE: &str = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:286E 00000000:0000 0A 00000000:00000000 00:00000000 00000000     7        0 11 1 0 100 0 0 10 0
   1: 0100007F:9C40 0100007F:286E 01 00000000:00000000 00:00000000 00000000  1000        0 12 1 0 20 4 30 10 -1
   2: 0100007F:286E 0100007F:9C40 01 00000000:00000000 00:00000000 00000000     7        0 13 1 0 20 4 30 10 -1
   3: 0100007F:9C41 0100007F:286E 06 00000000:00000000 03:00001770 00000000     0        0 0 3 0
   4: 00000000000000000000000001000000:9C42 00000000000000000000000001000000:286E 01 00000000:00000000 00:00000000 00000000  1001        0 14 1 0 20 4 30 10 -1
   5: 0000000000000000FFFF00000100007F:9C43 0000000000000000FFFF00000100007F:286E 01 00000000:00000000 00:00000000 00000000  1002        0 15 1 0 20 4 30 10 -1
  junk
";

    #[test]
    #[cfg(target_endian = "little")]
    fn the_owner_of_the_other_end_is_found() {
        let ours: SocketAddr = "127.0.0.1:10350".parse().unwrap();
        let ours6: SocketAddr = "[::1]:10350".parse().unwrap();
        let mapped: SocketAddr = "[::ffff:127.0.0.1]:10350".parse().unwrap();
        for (peer, local, expected) in [
            ("127.0.0.1:40000", ours, Some(1000)),
            // It has closed its end; nobody owns it any more.
            ("127.0.0.1:40001", ours, None),
            ("[::1]:40002", ours6, Some(1001)),
            ("127.0.0.1:40003", ours, Some(1002)),
            ("[::ffff:127.0.0.1]:40000", mapped, Some(1000)),
            ("127.0.0.1:40004", ours, None),
            ("127.0.0.2:40000", ours, None),
        ] {
            let found = owner(TABLE.as_bytes(), peer.parse().unwrap(), local);
            assert_eq!(found.map(Uid::as_raw), expected, "{peer}");
        }
    }

    #[test]
    fn connections_of_this_user_are_known_as_such() {
        for host in ["127.0.0.1:0", "[::1]:0"] {
            // Not every machine has both.
            let Ok(listener) = TcpListener::bind(host) else { continue };
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (server, peer) = listener.accept().unwrap();
            let user = peer_user(peer, server.local_addr().unwrap());
            assert_eq!(user, TELLS_PEERS.then(Uid::effective), "{host}");
            drop(client);
        }
    }
}
