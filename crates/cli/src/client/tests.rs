use super::*;

#[test]
fn answers_are_read_whole_or_refused() {
    let read = |text: &str| read_answer(text.as_bytes());
    let (status, body) =
        read("HTTP/1.1 404 Not Found\r\nX: y\r\nContent-Length: 2\r\n\r\n{}rest").expect("good");
    assert_eq!((status, body.as_slice()), (404, b"{}".as_slice()));
    for bad in [
        "",
        "nonsense\r\n\r\n",
        "HTTP/1.1 200 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\n{}",
        "HTTP/1.1 200 OK\r\ncontent-length: 99999999999999\r\n\r\n{}",
        "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n",
    ] {
        assert!(read(bad).is_err(), "{bad:?}");
    }
}

#[test]
fn an_answer_that_comes_before_the_question_is_out_is_heard() {
    let (ours, mut theirs) = UnixStream::pair().expect("a pair");
    theirs.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nnull").expect("written");
    drop(theirs);
    let (status, body) = exchange(ours, "POST", "/", b"null").expect("the answer");
    assert_eq!((status, body.as_slice()), (200, b"null".as_slice()));
    // And nobody is taken for an answer.
    let (ours, theirs) = UnixStream::pair().expect("a pair");
    drop(theirs);
    assert_eq!(exchange(ours, "GET", "/", b"").expect_err("lost").kind(), std::io::ErrorKind::BrokenPipe);
}
