//! A webhook that the API server asks before it takes an object.

use std::{
    io::{self, Read, Write},
    net::{TcpListener, TcpStream},
    sync::Arc,
    thread,
};

use base64::prelude::{BASE64_STANDARD, Engine as _};
use rustls::{ServerConfig, ServerConnection, StreamOwned, pki_types::PrivateKeyDer};
use serde_json::{Value, json};

/// A webhook that says no to everything. It ends with the test program.
pub(crate) struct Webhook {
    port: u16,
    certificate: String,
}

impl Webhook {
    /// A webhook that gives this reason.
    pub(crate) fn refusing(reason: &'static str) -> Self {
        let names = vec!["127.0.0.1".to_owned()];
        let made = rcgen::generate_simple_self_signed(names).expect("a certificate");
        let key = PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("it can be spoken")
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .expect("it can be used");
        let config = Arc::new(config);
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("it has an address").port();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let config = Arc::clone(&config);
                // Who asks may go away whenever he likes.
                thread::spawn(move || drop(answer(stream, config, reason)));
            }
        });
        Self { port, certificate: made.cert.pem() }
    }

    /// How the API server finds it.
    pub(crate) fn client_config(&self) -> Value {
        json!({
            "url": format!("https://127.0.0.1:{}/", self.port),
            "caBundle": BASE64_STANDARD.encode(&self.certificate),
        })
    }
}

/// Answers what is asked on one connection.
fn answer(stream: TcpStream, config: Arc<ServerConfig>, reason: &str) -> io::Result<()> {
    let connection = ServerConnection::new(config).map_err(io::Error::other)?;
    let mut stream = StreamOwned::new(connection, stream);
    while let Some(body) = request(&mut stream)? {
        let asked: Value = serde_json::from_slice(&body)?;
        let answer = json!({
            "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
            "response": {"uid": asked["request"]["uid"], "allowed": false,
                         "status": {"code": 403, "message": reason}},
        });
        let answer = answer.to_string();
        write!(
            stream,
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{answer}",
            answer.len()
        )?;
        stream.flush()?;
    }
    Ok(())
}

/// The body of the next request; nothing when there is none.
fn request(stream: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if stream.read(&mut byte)? == 0 {
            return Ok(None);
        }
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head).to_lowercase();
    let length = head.lines().find_map(|it| it.strip_prefix("content-length:"));
    let length = length.and_then(|it| it.trim().parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    Ok(Some(body))
}
