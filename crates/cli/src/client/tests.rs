use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::thread;

use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use tokio_rustls::rustls::{ServerConfig, ServerConnection, Stream as TlsStream};

use super::*;

/// A server of one connection, on a Unix socket.
fn serve(name: &str, work: impl FnOnce(UnixStream) + Send + 'static) -> Client {
    let path = std::env::temp_dir().join(format!("cistern-client-{name}-{}.sock", std::process::id()));
    drop(std::fs::remove_file(&path));
    let listener = UnixListener::bind(&path).expect("bound");
    let socket = path.clone();
    thread::spawn(move || {
        let (stream, _) = listener.accept().expect("a client");
        drop(std::fs::remove_file(socket));
        work(stream);
    });
    Client { silence_max: Duration::from_secs(5), ..Client::new(&path) }
}

/// Reads the head of a request, and says so.
fn heard(stream: &mut impl Read) {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).expect("a request") == 1 {
        head.push(byte[0]);
    }
}

/// What a GET comes to where the server says this and closes.
fn said(name: &str, text: &[u8]) -> Result<Vec<u64>, String> {
    let text = text.to_vec();
    let client = serve(name, move |mut stream| {
        heard(&mut stream);
        // The client may have heard enough.
        let _ = stream.write_all(&text);
    });
    client.get("/v1/x").map_err(told)
}

fn told(error: CallError) -> String {
    match error {
        CallError::Transport(text) => text,
        CallError::Refused(problem) => panic!("{problem}"),
    }
}

#[test]
fn an_answer_is_read_whole_or_said_to_be_broken() {
    assert_eq!(
        said("good", b"HTTP/1.1 200 OK\r\nX: y\r\ncontent-length: 5\r\n\r\n[1,2]rest"),
        Ok(vec![1, 2])
    );
    let chunked = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\n[1,\r\n2\r\n2]\r\n0\r\n\r\n";
    assert_eq!(said("chunked", chunked), Ok(vec![1, 2]));
    let lost = |name: &str, text: &[u8]| {
        let told = said(name, text).expect_err(name);
        told.strip_prefix("lost the Cistern daemon while it worked: ").expect(&told).to_owned()
    };
    assert_eq!(lost("empty", b""), "the answer breaks off");
    assert_eq!(lost("head", b"HTTP/1.1 200 OK\r\ncontent-le"), "the answer breaks off");
    assert_eq!(lost("body", b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n[1,"), "the answer breaks off");
    assert_eq!(lost("nonsense", b"nonsense\r\n\r\n"), "its answer is no HTTP");
    let odd = said("odd", b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}").expect_err("no list");
    assert!(odd.starts_with("the Cistern daemon answers in a way we don't understand: "), "{odd}");
}

const SEVEN: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n7";

#[test]
fn a_connection_is_used_again() {
    // Nobody takes a second one.
    let client = serve("again", |mut stream| {
        for _ in 0..3 {
            heard(&mut stream);
            stream.write_all(SEVEN).expect("written");
        }
    });
    assert_eq!(client.get::<u64>("/v1/x").map_err(told), Ok(7));
    assert_eq!(client.clone().get::<u64>("/v1/x").map_err(told), Ok(7));
    assert_eq!(client.get::<u64>("/v1/x").map_err(told), Ok(7));
}

#[test]
fn a_connection_that_the_daemon_has_closed_is_not_used_and_nothing_is_sent_twice() {
    let path = std::env::temp_dir().join(format!("cistern-client-closed-{}.sock", std::process::id()));
    drop(std::fs::remove_file(&path));
    let listener = UnixListener::bind(&path).expect("bound");
    let (tell, closed) = std::sync::mpsc::channel();
    let server = thread::spawn(move || {
        // The last one hears a whole request, and says nothing.
        for answer in [SEVEN, SEVEN, SEVEN, b""] {
            let (mut stream, _) = listener.accept().expect("a client");
            heard(&mut stream);
            stream.write_all(answer).expect("written");
            drop(stream);
            tell.send(()).expect("somebody waits");
        }
    });
    let client = Client::new(&path);
    assert_eq!(client.get::<u64>("/v1/x").map_err(told), Ok(7));
    closed.recv().expect("it is closed");
    assert_eq!(client.get::<u64>("/v1/x").map_err(told), Ok(7));
    closed.recv().expect("it is closed");
    // A change goes by one of its own.
    assert_eq!(client.post::<u64>("/v1/x", &()).map_err(told), Ok(7));
    closed.recv().expect("it is closed");
    let why = told(client.post::<u64>("/v1/x", &()).expect_err("nobody knows what came of it"));
    assert!(why.starts_with("lost the Cistern daemon while it worked: "), "{why}");
    server.join().expect("it ended");
    drop(std::fs::remove_file(path));
}

#[test]
fn a_head_without_end_is_not_read_for_ever() {
    let client = serve("endless", |mut stream| {
        heard(&mut stream);
        let mut written = stream.write_all(b"HTTP/1.1 200 OK\r\n");
        for _ in 0..1_000_000 {
            written = written.and_then(|()| stream.write_all(b"x-more: and more\r\n"));
            if written.is_err() {
                return;
            }
        }
        panic!("all of it was read");
    });
    let why = told(client.get::<()>("/v1/x").expect_err("it has no end"));
    assert!(why.ends_with("the head of its answer is too large"), "{why}");
}

#[test]
fn an_answer_without_bound_is_given_up() {
    let client = serve("large", |mut stream| {
        heard(&mut stream);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n");
        let many = [b' '; 1 << 16];
        while stream.write_all(&many).is_ok() {}
    });
    let outcome = client.runtime().expect("a runtime").block_on(async {
        let request = client.request(Method::GET, "/", Outgoing::whole(Vec::new())).expect("a request");
        let mut answer = client.ask(request).await.expect("a head");
        answer.whole(1 << 20, client.silence_max).await
    });
    assert_eq!(outcome.expect_err("it is too large").to_string(), "the answer is too large");
}

#[test]
fn silence_has_an_end() {
    let (tell, told_to_go) = std::sync::mpsc::channel::<()>();
    let client = serve("silent", move |mut stream| {
        heard(&mut stream);
        let _ = told_to_go.recv();
    });
    let client = Client { silence_max: Duration::from_secs(1), ..client };
    let why = told(client.get::<()>("/v1/x").expect_err("nobody answers"));
    assert!(why.ends_with("no word from it for 1 seconds"), "{why}");
    drop(tell);
}

#[test]
fn who_waits_is_interrupted() {
    let (tell, told_to_go) = std::sync::mpsc::channel::<()>();
    let interrupt = watch::Sender::new(false);
    let heard_of = interrupt.clone();
    let client = serve("interrupted", move |mut stream| {
        heard(&mut stream);
        heard_of.send_replace(true);
        let _ = told_to_go.recv();
    });
    let client = client.until(interrupt.subscribe());
    let why = told(client.get::<()>("/v1/x").expect_err("it was interrupted"));
    assert!(why.starts_with("interrupted"), "{why}");
    drop(tell);
}

#[test]
fn an_answer_that_drips_is_waited_for_as_long_as_was_said() {
    let client = serve("drips", |mut stream| {
        heard(&mut stream);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n");
        while stream.write_all(b" ").is_ok() {
            std::thread::sleep(Duration::from_millis(10));
        }
    });
    let client = client.within(Duration::from_millis(300));
    let why = told(client.get::<()>("/v1/x").expect_err("it has no end"));
    assert!(why.starts_with("lost the Cistern daemon"), "{why}");
}

#[test]
fn a_pause_is_interrupted() {
    let interrupt = watch::Sender::new(false);
    let client = Client::new(Path::new("/nowhere")).until(interrupt.subscribe());
    client.pause(Duration::from_millis(1)).expect("nobody interrupts it");
    interrupt.send_replace(true);
    assert!(client.pause(Duration::from_secs(600)).is_err());
}

#[test]
fn an_answer_that_comes_before_the_question_is_out_is_heard() {
    let client = serve("early", |mut stream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nnull").expect("written");
    });
    let large = vec![0_u8; 8 << 20];
    client.post::<()>("/v1/x", &large).expect("the answer");
    // And nobody is taken for an answer.
    let client = serve("gone", drop);
    let why = told(client.post::<()>("/v1/x", &large).expect_err("lost"));
    assert!(why.starts_with("lost the Cistern daemon while it worked: "), "{why}");
}

#[test]
fn a_stream_goes_out_as_it_comes_and_its_frames_come_in() {
    let client = serve("stream", |mut stream| {
        heard(&mut stream);
        let mut body = Vec::new();
        let mut byte = [0];
        while !body.ends_with(b"0\r\n\r\n") && stream.read(&mut byte).expect("a body") == 1 {
            body.push(byte[0]);
        }
        assert!(body.windows(4).any(|part| part == b"abcd"), "the input is there");
        let frames = b"d\x03\0\0\0xyzd\0\0\0\0d\x02\0\0\0vw";
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", frames.len());
        stream.write_all(head.as_bytes()).expect("written");
        for byte in frames {
            stream.write_all(&[*byte]).expect("written");
        }
    });
    let mut seen = Vec::new();
    let input: Box<dyn Read + Send> = Box::new(&b"abcd"[..]);
    let outcome = client.flow::<CallError>("/v1/x", &(), Some(input), &mut |piece| {
        match piece {
            Piece::Data(bytes) => seen.extend_from_slice(bytes),
            Piece::Event(event) => panic!("{event:?}"),
        }
        Ok(())
    });
    outcome.expect("it ends well");
    assert_eq!(seen, b"xyzvw");
}

#[test]
fn a_stream_that_breaks_off_or_has_a_strange_frame_is_an_error() {
    for (name, frames) in
        [("cut", &b"d\x03\0\0\0xy"[..]), ("frame", &b"?\0\0\0\0"[..]), ("long", &b"d\xff\xff\xff\xff"[..])]
    {
        let client = serve(name, move |mut stream| {
            heard(&mut stream);
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", frames.len());
            let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(frames));
        });
        let outcome = client.flow::<CallError>("/v1/x", &(), None, &mut |_| Ok(()));
        let why = told(outcome.expect_err(name));
        assert!(why.starts_with("lost the Cistern daemon while it worked: "), "{name}: {why}");
    }
}

/// A machine with a certificate of its own, which answers so many requests with what it is given.
fn machine(answers: Vec<Vec<u8>>) -> (Address, Trust) {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).expect("a certificate");
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let certificate: CertificateDer<'static> = made.cert.der().clone();
    let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let config = builder
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key.into())
        .expect("a key");
    let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
    let port = listener.local_addr().expect("an address").port();
    thread::spawn(move || {
        let config = Arc::new(config);
        for answer in answers {
            let (mut tcp, _) = listener.accept().expect("a client");
            let mut tls = ServerConnection::new(config.clone()).expect("a connection");
            // Whoever does not take the certificate sends nothing.
            while tls.is_handshaking() {
                if tls.complete_io(&mut tcp).is_err() {
                    break;
                }
            }
            if !tls.is_handshaking() {
                let mut stream = TlsStream::new(&mut tls, &mut tcp);
                let mut head = [0; 4096];
                let read = stream.read(&mut head).unwrap_or(0);
                if read > 0 {
                    let asked = String::from_utf8_lossy(&head[..read]).to_lowercase();
                    assert!(asked.contains("authorization: bearer cistern_1_x\r\n"), "{asked}");
                    let _ = stream.write_all(&answer).and_then(|()| stream.flush());
                }
            }
        }
    });
    let address: Address = format!("localhost:{port}").parse().expect("an address");
    (address.clone(), look(&address).expect("it shows a certificate"))
}

fn at(address: &Address, trust: Trust) -> Client {
    let token = Credential::Token("cistern_1_x".into());
    Client::remote(Remote::new(address.clone(), trust, token).expect("a client"))
}

#[test]
fn another_machine_is_asked_with_the_token_once_its_certificate_is_the_known_one() {
    let good = b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\n[7]".to_vec();
    let (address, trust) = machine(vec![Vec::new(), good, Vec::new(), Vec::new()]);
    assert!(matches!(trust, Trust::Known(_)), "nobody vouches for it");
    assert_eq!(at(&address, trust).get::<Vec<u64>>("/v1/x").map_err(told), Ok(vec![7]));
    let other = Trust::Known("AB".repeat(32).parse().expect("a fingerprint"));
    let changed = told(at(&address, other).get::<()>("/v1/x").expect_err("it is another one"));
    let Trust::Known(known) = trust else { panic!("it is known") };
    for part in ["has changed", "AB:AB:AB", &known.to_string(), "cistern login localhost:"] {
        assert!(changed.contains(part), "{part}: {changed}");
    }
    let untrusted = told(at(&address, Trust::System).get::<()>("/v1/x").expect_err("nobody vouches for it"));
    assert!(untrusted.contains("does not trust the certificate") && untrusted.contains(&known.to_string()));
}

#[test]
fn a_token_that_is_taken_no_more_is_said_to_be_so() {
    let problem = r#"{"type":"/problems/unauthenticated","title":"x","status":401,"detail":"x","exit":1}"#;
    let head = format!("HTTP/1.1 401 Unauthorized\r\ncontent-length: {}\r\n\r\n", problem.len());
    let (address, trust) = machine(vec![Vec::new(), (head + problem).into_bytes()]);
    let why = told(at(&address, trust).get::<()>("/v1/x").expect_err("it is refused"));
    assert!(why.contains(&format!("Run 'cistern login {address}' again.")), "{why}");
}

#[test]
fn a_port_without_tls_or_without_anybody_is_told() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
    let address: Address =
        listener.local_addr().expect("an address").to_string().parse().expect("an address");
    let plain = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        // Until the client has heard it.
        let _ = stream.read(&mut [0; 4096]).and_then(|_| stream.read(&mut [0; 1]));
    });
    let known = Trust::Known("AB".repeat(32).parse().expect("a fingerprint"));
    let why = told(at(&address, known).get::<()>("/v1/x").expect_err("it is no TLS"));
    assert!(why.ends_with("what answers there speaks no TLS"), "{why}");
    plain.join().expect("it ended");
    let why = told(at(&address, known).get::<()>("/v1/x").expect_err("nobody listens"));
    assert!(why.contains("cannot reach the Cistern daemon at 127.0.0.1:"), "{why}");
}
