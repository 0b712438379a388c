//! A peer who means no good.

use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::daemon::{Daemon, Scratch, program};
use crate::https::port_of;

/// `ZIO_COMPRESS_GZIP_6`, in which tokens are.
const ZLIB: u8 = 10;

/// A peer who says what he likes: a program for TLS, with a certificate of his own.
pub struct Attacker {
    folder: std::path::PathBuf,
    place: String,
}

impl Attacker {
    pub fn new(scratch: &Scratch, to: &Daemon) -> Attacker {
        let folder = scratch.folder("attacker");
        let made = program("openssl", 30)
            .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"])
            .args(["-days", "30", "-subj", "/CN=attacker", "-keyout"])
            .arg(folder.join("key"))
            .arg("-out")
            .arg(folder.join("certificate"))
            .output()
            .expect("openssl");
        assert!(made.status.success(), "{made:?}");
        Attacker { folder, place: format!("127.0.0.1:{}", port_of(to)) }
    }

    pub fn fingerprint(&self) -> String {
        let shown = program("openssl", 30)
            .args(["x509", "-noout", "-fingerprint", "-sha256", "-in"])
            .arg(self.folder.join("certificate"))
            .output()
            .expect("openssl");
        let text = String::from_utf8(shown.stdout).expect("text");
        text.trim().split_once('=').expect("a fingerprint").1.to_owned()
    }

    /// Sends a request by TLS, with the protocol of peers; gives status and body.
    pub fn ask(&self, path: &str, body: &[u8]) -> (u16, Value) {
        let answer = self.talk(&self.request(path, body));
        let text = String::from_utf8_lossy(&answer).into_owned();
        let status = text.split(' ').nth(1).and_then(|it| it.parse().ok()).unwrap_or(0);
        let json = text.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        (status, serde_json::from_str(json).unwrap_or(Value::Null))
    }

    pub fn request(&self, path: &str, body: &[u8]) -> Vec<u8> {
        let mut head = format!("POST {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n", self.place);
        head += &format!("Content-Length: {}\r\n\r\n", body.len());
        [head.as_bytes(), body].concat()
    }

    /// Sends what it likes, and gives all that is answered.
    pub fn talk(&self, request: &[u8]) -> Vec<u8> {
        let mut command = program("openssl", 60);
        command
            .args(["s_client", "-quiet", "-alpn", "cistern-peer", "-connect", &self.place, "-key"])
            .arg(self.folder.join("key"))
            .arg("-cert")
            .arg(self.folder.join("certificate"));
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("openssl");
        let mut stdin = child.stdin.take().expect("piped");
        // Who is refused early does not take all of it.
        drop(stdin.write_all(request));
        let output = child.wait_with_output().expect("it ends");
        drop(stdin);
        output.stdout
    }

    pub fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        self.ask(path, body.to_string().as_bytes())
    }

    pub fn receive(&self, claim: &Value, props: &Value, stream: &[u8]) -> (u16, Value) {
        let line = json!({"claim": claim, "props": props, "at": 1_790_000_000_i64}).to_string();
        self.ask("/peer/receive", &[line.as_bytes(), b"\n", stream].concat())
    }
}

/// A token of `zfs send -t` in which some bytes stand in the place of as many others.
pub fn forged(token: &str, changes: &[(&[u8], &[u8])]) -> String {
    let parts: Vec<&str> = token.splitn(4, '-').collect();
    let len = usize::from_str_radix(parts[2], 16).expect("a length");
    let byte = |at: usize| u8::from_str_radix(&parts[3][2 * at..2 * at + 2], 16).expect("hexadecimal");
    let packed: Vec<u8> = (0..parts[3].len() / 2).map(byte).collect();
    let mut list = vec![0; len];
    codec::decompress(ZLIB, &packed, &mut list).expect("a list");
    for (old, new) in changes {
        let at = list.windows(old.len()).position(|part| part == *old).expect("it is there");
        assert_eq!(old.len(), new.len());
        list[at..at + new.len()].copy_from_slice(new);
    }
    let mut memory = Vec::new();
    let bytes = codec::compress(ZLIB, 0, &list, &mut memory, 2 * list.len() + 64);
    let bytes = bytes.expect("zlib").expect("there is room");
    let sum = codec::fletcher4_append([0; 4], &bytes[..bytes.len() / 4 * 4], false)[0];
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("1-{sum:x}-{len:x}-{hex}")
}
