//! Authorities that mean no good: silent, without end, elsewhere, nonsense.
//!
//! What a good one does is proven in the tests of the whole daemon, with a real one.

use super::*;
use instant_acme::HttpClient;
use rcgen::{CertificateParams, KeyPair};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;
use std::time::Instant;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned};

const QUICK: Bounds =
    Bounds { time: Duration::from_secs(2), connect: Duration::from_secs(1), body: 64 << 10 };

/// Bytes that a bad authority answers with, piece by piece; then it waits for the client to go.
type Script = Box<dyn Fn() -> Box<dyn Iterator<Item = Vec<u8>>> + Send>;

/// An authority on a port of its own; gives the URL of its directory, and its root. It ends with
/// the program.
fn authority(script: Script) -> (String, String) {
    let key = KeyPair::generate().expect("a key");
    let certificate = CertificateParams::new(["localhost".to_owned()]).expect("a name");
    let certificate = certificate.self_signed(&key).expect("signed");
    let der = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], der)
        .expect("a certificate");
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let connection = ServerConnection::new(config.clone()).expect("TLS");
            let mut stream = StreamOwned::new(connection, stream);
            let mut request = [0; 8 << 10];
            // A client that does not trust it goes away.
            let Ok(_) = stream.read(&mut request) else { continue };
            let sent = script().try_for_each(|piece| stream.write_all(&piece));
            if sent.is_ok() {
                drop(stream.read(&mut request));
            }
        }
    });
    (format!("https://localhost:{port}/directory"), certificate.pem())
}

fn says(text: &str) -> Script {
    let bytes = text.as_bytes().to_vec();
    Box::new(move || Box::new(std::iter::once(bytes.clone())))
}

fn answers(status: &str, body: &str) -> Script {
    says(&format!(
        "HTTP/1.1 {status}\r\nRetry-After: 18446744073709551615\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    ))
}

fn run<T>(work: impl Future<Output = T>) -> T {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_io().enable_time().build().expect("a runtime").block_on(work)
}

/// Why an authority is of no use, and how long that took to find out.
fn failure(script: Script) -> Failure {
    let (directory, root) = authority(script);
    let began = Instant::now();
    let http = Http::new(&directory, Some(&root), QUICK).expect("a client");
    let wanted = machine::AcmeWanted {
        domains: vec!["nas.example.org".to_owned()],
        email: None,
        directory,
        roots: Some(root),
    };
    let failure = run(order::begin(&http, &wanted)).err().expect("it is of no use");
    assert!(began.elapsed() < Duration::from_secs(20), "{failure:?}");
    failure
}

#[test]
fn an_authority_that_is_of_no_use_is_found_out_in_time() {
    let chunk = || {
        let head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
        let body =
            std::iter::repeat_with(|| [b"4000\r\n".to_vec(), vec![b' '; 0x4000], b"\r\n".to_vec()].concat());
        Box::new(std::iter::once(head).chain(body)) as Box<dyn Iterator<Item = Vec<u8>>>
    };
    let heads = || {
        let head = b"HTTP/1.1 200 OK\r\n".to_vec();
        let more = std::iter::repeat_with(|| b"X-More: and more\r\n".repeat(64));
        Box::new(std::iter::once(head).chain(more)) as Box<dyn Iterator<Item = Vec<u8>>>
    };
    let drops = || {
        let more = std::iter::repeat_with(|| {
            thread::sleep(Duration::from_millis(100));
            b" ".to_vec()
        });
        let head = b"HTTP/1.1 200 OK\r\nContent-Length: 60000\r\n\r\n".to_vec();
        Box::new(std::iter::once(head).chain(more)) as Box<dyn Iterator<Item = Vec<u8>>>
    };
    let urls = |nonce: &str| {
        format!(
            r#"{{"newNonce":"{nonce}","newAccount":"https://localhost:1/a","newOrder":"https://localhost:1/o"}}"#
        )
    };
    use AcmeFault::{BadAnswer, Unreachable};
    let moved = "301 Moved\r\nLocation: https://localhost/";
    let cases: Vec<(&str, Script, AcmeFault)> = vec![
        ("a body without end", Box::new(chunk), BadAnswer),
        ("a head without end", Box::new(heads), Unreachable),
        ("a body that drips", Box::new(drops), Unreachable),
        ("silence", says(""), Unreachable),
        ("no HTTP", says("220 mail.example ESMTP\r\n\r\n"), Unreachable),
        ("elsewhere", answers(moved, ""), BadAnswer),
        ("no JSON", answers("200 OK", "<html>"), BadAnswer),
        ("another JSON", answers("200 OK", "[1, 2]"), BadAnswer),
        ("deep JSON", answers("200 OK", &"[".repeat(60_000)), BadAnswer),
        ("no URL", answers("200 OK", &urls("http://[")), BadAnswer),
        ("plain HTTP", answers("200 OK", &urls("http://localhost:1/n")), BadAnswer),
        ("a refusal without words", answers("502 Bad Gateway", "<html>"), BadAnswer),
        ("nobody behind its URL", answers("200 OK", &urls("https://localhost:1/n")), Unreachable),
        ("a refusal", answers("500 Oops", r#"{"type":"x"}"#), BadAnswer),
    ];
    for (name, script, fault) in cases {
        let failure = failure(script);
        assert_eq!(failure.fault, fault, "{name}: {failure:?}");
    }
}

#[test]
fn only_an_authority_that_is_trusted_is_asked() {
    let (directory, _) = authority(answers("200 OK", "{}"));
    let (_, other_root) = authority(says(""));
    let http = Http::new(&directory, Some(&other_root), QUICK).expect("a client");
    let request = axum::http::Request::builder().uri(&directory).body(instant_acme::BodyWrapper::default());
    let refused = run(http.request(request.expect("a request"))).err().expect("it is not trusted");
    assert_eq!(Failure::from(refused).fault, AcmeFault::Unreachable);
}

#[test]
fn when_to_come_again_is_noted_of_refusals_and_kept_from_the_order() {
    for (status, seconds, noted) in [
        ("429 Too Many", "90", Some(90)),
        ("503 Busy", "7", Some(7)),
        ("200 OK", "90", None),
        ("429 Too Many", "18446744073709551615", None),
        ("429 Too Many", "Fri, 31 Dec 9999 23:59:59 GMT", None),
    ] {
        let head = format!("HTTP/1.1 {status}\r\nRetry-After: {seconds}\r\nContent-Length: 2\r\n\r\n{{}}");
        let (directory, root) = authority(says(&head));
        let http = Http::new(&directory, Some(&root), QUICK).expect("a client");
        let elsewhere = directory.replace("/directory", "/other");
        let request =
            axum::http::Request::builder().uri(elsewhere).body(instant_acme::BodyWrapper::default());
        let answer = run(http.request(request.expect("a request")));
        let answer = answer.unwrap_or_else(|error| panic!("{status}: {error}"));
        assert!(!answer.parts.headers.contains_key("retry-after"), "{status}");
        assert_eq!(http.later(), noted, "{status} {seconds}");
    }
}
