//! Files of snapshots: looking for them, reading them, copying one back.
//!
//! Names, sizes and times are for readers. What is in a file is what users have stored, so reading
//! and restoring are for administrators alone, and in the audit log with the file's name.

use crate::app::{App, Body, Shared, apart, blocking, job, patient};
use crate::audit::Said;
use crate::caller::asker;
use crate::handlers::pools::{Asked, query};
use crate::path::Path;
use crate::problem::{Refusal, refuse};
use api_types::{
    FileQuery, FileRestore, FileVersionsQuery, FilesQuery, JobResult, is_of_machine, kind, routes::segment,
};
use appliance::{OpenFile, Reporter};
use axum::Extension;
use axum::body::{self, Bytes, HttpBody};
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use http_body::{Frame, SizeHint};
use std::io;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::mpsc;

/// Pieces of a file on their way to a client.
const QUEUED: usize = 4;
/// Bytes that are copied back between two steps of a job.
const STEP: u64 = 16 << 20;

pub async fn list(State(app): State<Shared>, Path(name): Path<String>, asked: Asked<FilesQuery>) -> Response {
    let may = may_look(&name);
    blocking(app, move |app| {
        may?;
        let FilesQuery { path, after, limit } = query(asked)?;
        Ok(app.appliance.files(&name, &path, &after, limit)?)
    })
    .await
}

pub async fn versions(
    State(app): State<Shared>,
    Path(name): Path<String>,
    asked: Asked<FileVersionsQuery>,
) -> Response {
    let may = may_look(&name);
    blocking(app, move |app| {
        may?;
        let FileVersionsQuery { path, after, limit } = query(asked)?;
        Ok(app.appliance.file_versions(&name, &path, &after, limit)?)
    })
    .await
}

/// What a pool keeps of the machine's own state is an administrator's alone.
fn may_look(name: &str) -> Result<(), Refusal> {
    match is_of_machine(name) && !asker().is_administrator() {
        true => Err(refuse(kind::DENIED, "permission denied")),
        false => Ok(()),
    }
}

pub async fn read(State(app): State<Shared>, Path(name): Path<String>, asked: Asked<FileQuery>) -> Response {
    let asked = match query(asked) {
        Ok(asked) => asked,
        Err(why) => return why.into_response(),
    };
    let said = said(&name, &asked.path);
    let opened = patient(app.clone(), move |app| Ok(app.appliance.open_file(&name, &asked.path)?)).await;
    let answer = match opened.and_then(|file| send(app, file)) {
        Ok(answer) => answer,
        Err(why) => why.into_response(),
    };
    (said, answer).into_response()
}

/// For the audit log: which file it was.
fn said(snapshot: &str, path: &str) -> Extension<Said> {
    Extension(Said { target: Some(format!("{snapshot}:{path}")), ..Said::default() })
}

/// The file as an attachment, which no browser shows or takes for anything else.
fn send(app: Shared, file: OpenFile) -> Result<Response, Refusal> {
    let (to, pieces) = mpsc::channel(QUEUED);
    let (left, name) = (file.size, String::from_utf8_lossy(&file.name).into_owned());
    apart(app, move |_| pour(&file, &to))?;
    let disposition = format!("attachment; filename=\"file\"; filename*=UTF-8''{}", segment(&name));
    let head = [
        (header::CONTENT_TYPE, "application/octet-stream".to_owned()),
        (header::CONTENT_DISPOSITION, disposition),
    ];
    Ok((head, body::Body::new(Contents { pieces, left })).into_response())
}

/// Reads a file to its end, as far as the client takes it. What cannot be read breaks the answer
/// off.
fn pour(file: &OpenFile, to: &mpsc::Sender<io::Result<Bytes>>) {
    let mut offset = 0;
    while offset < file.size {
        let parts = match file.read(offset) {
            Ok(parts) => parts,
            Err(why) => {
                let why = crate::words::failure(why);
                // Who does not read on does not miss it.
                let _ = to.blocking_send(Err(io::Error::other(why)));
                return;
            }
        };
        if parts.is_empty() {
            return;
        }
        for part in parts {
            let bytes = Bytes::copy_from_slice(part.bytes());
            offset += bytes.len() as u64;
            if to.blocking_send(Ok(bytes)).is_err() {
                return;
            }
        }
    }
}

/// So many bytes as they are read, or an error: never fewer without one.
struct Contents {
    pieces: mpsc::Receiver<io::Result<Bytes>>,
    left: u64,
}

impl HttpBody for Contents {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        self.pieces.poll_recv(cx).map(|piece| match piece {
            None if self.left > 0 => {
                self.left = 0;
                Some(Err(io::ErrorKind::UnexpectedEof.into()))
            }
            None => None,
            Some(piece) => {
                self.left = match &piece {
                    Ok(bytes) => self.left.saturating_sub(bytes.len() as u64),
                    Err(_) => 0,
                };
                Some(piece.map(Frame::data))
            }
        })
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

pub async fn restore(State(app): State<Shared>, body: Body) -> Response {
    // The path of the request does not say which file it is.
    let asked = body.as_ref().ok().and_then(|bytes| serde_json::from_slice::<FileRestore>(bytes).ok());
    let said = asked.map(|asked| said(&asked.snapshot, &asked.path));
    let target = |asked: &FileRestore| format!("{}:{}", asked.snapshot, asked.path);
    let answer = job(app, "file.restore", body, target, run_restore).await;
    (said, answer).into_response()
}

fn run_restore(app: &App, asked: &FileRestore, reporter: &Reporter) -> Result<JobResult, Refusal> {
    let what = format!("copying {}:{}", asked.snapshot, asked.path);
    let mut told = None;
    app.appliance.restore_file(asked, &mut |done, total| {
        // With all of it there, it is named.
        reporter.set_cancellable(done < total);
        if told.is_none_or(|told| done >= told + STEP) || done == total {
            told = Some(done);
            reporter.step(what.as_str(), done, total);
        }
        match reporter.is_cancelled() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    })?;
    Ok(JobResult::default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(contents: &mut Contents) -> Poll<Option<Result<usize, io::ErrorKind>>> {
        let mut cx = Context::from_waker(std::task::Waker::noop());
        Pin::new(contents).poll_frame(&mut cx).map(|frame| {
            frame.map(|frame| {
                frame.map(|frame| frame.into_data().map_or(0, |data| data.len())).map_err(|e| e.kind())
            })
        })
    }

    #[test]
    fn a_file_that_ends_too_soon_is_an_answer_that_breaks_off() {
        let (to, pieces) = mpsc::channel(QUEUED);
        let mut contents = Contents { pieces, left: 5 };
        assert_eq!(contents.size_hint().exact(), Some(5));
        to.try_send(Ok(Bytes::from_static(b"abc"))).expect("room");
        drop(to);
        assert_eq!(frame(&mut contents), Poll::Ready(Some(Ok(3))));
        assert!(!contents.is_end_stream());
        assert_eq!(frame(&mut contents), Poll::Ready(Some(Err(io::ErrorKind::UnexpectedEof))));
        assert_eq!(frame(&mut contents), Poll::Ready(None));
    }
}
