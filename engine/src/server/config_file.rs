//! The file where clients find the API servers of all instances of a user: a kubeconfig with one context each.

use std::{
    env, fs, io,
    net::{SocketAddr, TcpStream},
    path::{Path, PathBuf},
    time::Duration,
};

use base64::Engine as _;
use engine_files::{dev_dir, private};
use serde_json::{Map, Value, json};

/// How long a server on this machine may take to answer before it counts as alive.
const PROBE: Duration = Duration::from_millis(50);

/// Where one instance is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceEntry {
    /// Name of the instance.
    pub instance: String,
    /// Address of the API server.
    pub server: String,
    /// Certificate of the issuer of its certificate.
    pub ca_pem: String,
    /// What clients show.
    pub token: String,
}

/// The name under which clients look for the instance on a web port.
pub fn instance_name(port: u16) -> String {
    if port == 10350 { "tilt-default".to_owned() } else { format!("tilt-{port}") }
}

/// A token that cannot be guessed.
pub fn new_token() -> String {
    let bytes: Vec<u8> = (0..4).flat_map(|_| uuid::Uuid::new_v4().into_bytes()).collect();
    base64::engine::general_purpose::URL_SAFE.encode(bytes)
}

/// Where clients look: the first file of `TILT_CONFIG` that exists, or its last one, or that of the user.
///
/// # Errors
/// If the folder of the user cannot be made.
pub fn path() -> io::Result<PathBuf> {
    if let Some(list) = env::var_os("TILT_CONFIG").filter(|it| !it.is_empty()) {
        let paths: Vec<PathBuf> =
            env::split_paths(&list).filter(|it| !it.as_os_str().is_empty()).collect();
        let chosen = paths.iter().find(|it| it.exists()).or(paths.last());
        if let Some(path) = chosen {
            return Ok(path.clone());
        }
    }
    Ok(dev_dir::create()?.join("config"))
}

/// Adds the entry of an instance, and removes entries of instances that are gone.
///
/// # Errors
/// If the file cannot be read or written.
pub fn add(path: &Path, entry: &InstanceEntry) -> io::Result<()> {
    edit(path, |config| {
        let stale: Vec<String> = servers(config)
            .into_iter()
            .filter(|(name, server)| {
                *name == entry.instance || name.starts_with("tilt-") && is_dead(server)
            })
            .map(|(name, _)| name)
            .collect();
        for name in &stale {
            drop_entry(config, name);
        }
        let ca = base64::engine::general_purpose::STANDARD.encode(&entry.ca_pem);
        let name = &entry.instance;
        push(
            config,
            "clusters",
            json!({"cluster": {"certificate-authority-data": ca, "server": entry.server}, "name": name}),
        );
        push(config, "contexts", json!({"context": {"cluster": name, "user": name}, "name": name}));
        push(config, "users", json!({"name": name, "user": {"token": entry.token}}));
    })
}

/// Removes the entry of an instance, unless another one has taken its name.
///
/// # Errors
/// If the file cannot be read or written.
pub fn remove(path: &Path, entry: &InstanceEntry) -> io::Result<()> {
    edit(path, |config| {
        if servers(config).contains(&(entry.instance.clone(), entry.server.clone())) {
            drop_entry(config, &entry.instance);
        }
    })
}

/// Names and addresses of all servers.
fn servers(config: &Map<String, Value>) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let clusters = config.get("clusters").and_then(Value::as_array);
    clusters
        .into_iter()
        .flatten()
        .map(|it| (text(&it["name"]), text(&it["cluster"]["server"])))
        .collect()
}

/// Whether nobody listens on an address of this machine.
fn is_dead(server: &str) -> bool {
    let Some(addr) = server.strip_prefix("https://").and_then(|it| it.parse::<SocketAddr>().ok())
    else {
        return false;
    };
    if !addr.ip().is_loopback() {
        return false;
    }
    let connected = TcpStream::connect_timeout(&addr, PROBE);
    connected.is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
}

fn drop_entry(config: &mut Map<String, Value>, name: &str) {
    for list in ["clusters", "contexts", "users"] {
        if let Some(items) = config.get_mut(list).and_then(Value::as_array_mut) {
            items.retain(|it| it["name"] != name);
        }
    }
}

fn push(config: &mut Map<String, Value>, list: &str, item: Value) {
    let items = config.entry(list).or_insert(Value::Null);
    match items {
        Value::Array(items) => items.push(item),
        other => *other = json!([item]),
    }
}

/// Changes the file, or says why it cannot be changed and what to do about it.
fn edit(path: &Path, change: impl FnOnce(&mut Map<String, Value>)) -> io::Result<()> {
    edit_locked(path, change)
        .map_err(|error| dev_dir::way_out("write", path, &error, "TILT_CONFIG"))
}

/// Changes the file while no other instance does.
fn edit_locked(path: &Path, change: impl FnOnce(&mut Map<String, Value>)) -> io::Result<()> {
    if let Some(dir) = path.parent() {
        private::create_dir(dir)?;
    }
    let _lock = private::lock(&lock_of(path))?;
    let old = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error),
    };
    let mut config = match engine_formats::yaml::decode_v2(&old) {
        Ok(Value::Object(map)) => map,
        // An empty file is fine; one that cannot be read is of no use to anybody.
        _ => Map::new(),
    };
    change(&mut config);
    for (key, value) in
        [("apiVersion", json!("v1")), ("kind", json!("Config")), ("current-context", json!(""))]
    {
        config.entry(key).or_insert(value);
    }
    for list in ["clusters", "contexts", "users"] {
        config.entry(list).or_insert(json!([]));
    }
    let text =
        engine_formats::yaml::emit::emit_v2(&Value::Object(config)).map_err(io::Error::other)?;
    private::write(path, text.as_bytes())
}

fn lock_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    name.into()
}

#[cfg(test)]
mod tests {
    use std::{net::TcpListener, os::unix::fs::PermissionsExt};

    use super::*;

    fn entry(instance: &str, server: &str) -> InstanceEntry {
        InstanceEntry {
            instance: instance.into(),
            server: server.into(),
            ca_pem: "CA".into(),
            token: "secret".into(),
        }
    }

    fn names(path: &Path) -> Vec<String> {
        let value = engine_formats::yaml::decode_v2(fs::read(path).unwrap()).unwrap();
        servers(value.as_object().unwrap()).into_iter().map(|it| it.0).collect()
    }

    fn listener() -> (TcpListener, String) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = format!("https://{}", listener.local_addr().unwrap());
        (listener, server)
    }

    #[test]
    fn an_entry_is_added_and_removed_and_others_stay() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sub/config");
        let ((_one, first), (_two, second)) = (listener(), listener());
        let (one, two) = (entry("tilt-default", &first), entry("tilt-1", &second));
        add(&path, &one).unwrap();
        add(&path, &two).unwrap();
        assert_eq!(names(&path), ["tilt-default", "tilt-1"]);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        remove(&path, &one).unwrap();
        assert_eq!(names(&path), ["tilt-1"]);
    }

    #[test]
    fn the_successor_of_an_instance_keeps_its_entry() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config");
        let (_listener, server) = listener();
        let old = entry("tilt-default", "https://127.0.0.1:1");
        add(&path, &old).unwrap();
        add(&path, &entry("tilt-default", &server)).unwrap();
        remove(&path, &old).unwrap();
        assert_eq!(names(&path), ["tilt-default"]);
    }

    #[test]
    fn entries_of_dead_instances_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config");
        let (dead, server) = listener();
        drop(dead);
        add(&path, &entry("tilt-1", &server)).unwrap();
        add(&path, &entry("tilt-2", "https://127.0.0.1:1")).unwrap();
        assert_eq!(names(&path), ["tilt-2"]);
    }

    #[test]
    fn a_file_that_cannot_be_read_is_written_anew() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config");
        fs::write(&path, "{[").unwrap();
        add(&path, &entry("tilt-2", "https://127.0.0.1:1")).unwrap();
        assert_eq!(names(&path), ["tilt-2"]);
    }
}
