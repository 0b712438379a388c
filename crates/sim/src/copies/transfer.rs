//! A stream from one dataset to another of the same pool, whole or what is left of it.

use engine_api::{DatasetFilter, DatasetKind, Error, Pool, ReceiveRequest, SendRequest};

use crate::workload::{Done, failed};

/// See the module.
#[derive(Clone, Debug)]
pub struct Transfer {
    pub send: SendRequest,
    pub to: &'static str,
    pub force: bool,
    pub resumable: bool,
}

impl Transfer {
    /// One snapshot and nothing beside it: such a stream can be gone on with.
    pub fn is_simple(&self) -> bool {
        let SendRequest { replicate, intermediates, props, backup, holds, .. } = self.send;
        !(replicate || intermediates || props || backup || holds)
    }

    pub fn stream(&self, api: &dyn Pool) -> Result<Vec<u8>, String> {
        send(api, &self.send)
    }

    /// What a receive that was interrupted lacks.
    pub fn rest(&self, api: &dyn Pool, token: &str) -> Result<Vec<u8>, String> {
        send(api, &SendRequest { token: Some(token.to_owned()), ..SendRequest::default() })
    }

    pub fn receive(&self, api: &dyn Pool, stream: &[u8]) -> Done {
        self.receive_into(api, self.to, stream)
    }

    /// As [`Transfer::receive`], of what is for another dataset.
    pub fn receive_into(&self, api: &dyn Pool, target: &str, mut stream: &[u8]) -> Done {
        let request = ReceiveRequest {
            target: target.to_owned(),
            force: self.force,
            resumable: self.resumable,
            ..ReceiveRequest::default()
        };
        let received = api.receive(&request, &mut stream, &mut |_| {});
        let received = received.map_err(|error| format!("receive {self:?}: {error}"))?;
        if received.warnings.is_empty() {
            Ok(())
        } else {
            Err(format!("receive warns: {:?}", received.warnings))
        }
    }
}

fn send(api: &dyn Pool, request: &SendRequest) -> Result<Vec<u8>, String> {
    let mut stream = Vec::new();
    api.send(request, &mut stream, &mut |_| {}).map_err(|error| format!("send {request:?}: {error}"))?;
    Ok(stream)
}

/// With what a dataset's sender can go on.
pub fn token_of(api: &dyn Pool, dataset: &str) -> Result<Option<String>, String> {
    let filter = DatasetFilter {
        roots: vec![dataset.to_owned()],
        depth: Some(0),
        alone: false,
        kinds: vec![DatasetKind::Filesystem, DatasetKind::Volume],
        props: vec!["receive_resume_token".to_owned()],
    };
    match api.datasets(&filter) {
        Err(Error::NotFound) => Ok(None),
        found => {
            let found = found.map_err(failed("the token"))?;
            let token = found.first().and_then(|info| info.props.first()).map(|prop| prop.value.clone());
            Ok(token.filter(|token| !token.is_empty()))
        }
    }
}
