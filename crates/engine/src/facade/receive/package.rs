//! Streams of more than one snapshot: a list of what comes, then the streams of one snapshot each.
//!
//! ```text
//!   fss: guid of dataset → { name, props, snaps: name → guid, snapprops: name → { … }, snapholds: name → { tag → time } }
//! ```
//! Source: lib/libzfs/libzfs_sendrecv.c (`zfs_receive_package`, `send_iterate_fs`).

use ::pool::prop::RawValue;
use ::pool::stream::RecordReader;
use engine_api::Result;
use ondisk::nvlist::{NvList, NvValue};
use ondisk::send::{Begin, Record};
use refusal::{ReceiveFault, Stream};

use super::refuse;

/// What the list says, as far as it is followed here.
#[derive(Default)]
pub(super) struct Package {
    list: NvList,
    /// It is of a whole tree of datasets.
    pub is_recursive: bool,
}

/// What the list says of one snapshot.
#[derive(Default)]
pub(super) struct Listed {
    /// Received properties of the dataset; `None`: the stream has none of any dataset.
    pub props: Option<Vec<(String, RawValue)>>,
    /// Of the snapshot.
    pub snapshot_props: Vec<(String, RawValue)>,
    /// Tags.
    pub holds: Vec<String>,
}

impl Package {
    /// Reads the list that comes with the begin of a compound stream, and its end.
    pub fn read(begin: &Begin, stream: &mut RecordReader<'_>) -> Result<Package> {
        let broken = || refuse(Stream::Any, ReceiveFault::Invalid);
        let bytes = stream.payload(u64::from(begin.payload_len)).map_err(|_| broken())?;
        match stream.record() {
            Ok(Record::End { .. }) => {}
            Ok(_) => return Err(broken()),
            Err(::pool::stream::StreamError::Checksum) => {
                return Err(refuse(Stream::Any, ReceiveFault::HeaderChecksum));
            }
            Err(_) => return Err(broken()),
        }
        if bytes.is_empty() {
            return Ok(Package { list: NvList::new(), is_recursive: true });
        }
        let list = NvList::decode(&bytes).map_err(|_| broken())?;
        let is_recursive = !list.contains("not_recursive");
        Ok(Package { list, is_recursive })
    }

    /// What it says of the snapshot of this guid.
    pub fn listed(&self, guid: u64) -> Listed {
        let Some((dataset, snapshot)) = self.find(guid) else { return Listed::default() };
        let of_snapshot = |what: &str| dataset.nvlist(what).and_then(|all| all.nvlist(snapshot));
        let holds = of_snapshot("snapholds")
            .map_or_else(Vec::new, |holds| holds.iter().map(|(tag, _)| tag.to_owned()).collect());
        Listed {
            props: dataset.nvlist("props").map(values),
            snapshot_props: of_snapshot("snapprops").map_or_else(Vec::new, values),
            holds,
        }
    }

    /// The snapshot that the streams start from.
    pub fn from(&self) -> Option<&str> {
        self.list.string("fromsnap")
    }

    /// The dataset whose snapshot has this guid, and what that is called.
    pub fn find(&self, guid: u64) -> Option<(&NvList, &str)> {
        for (_, dataset) in self.list.nvlist("fss")?.iter() {
            let NvValue::NvList(dataset) = dataset else { continue };
            for (name, of) in dataset.nvlist("snaps").into_iter().flat_map(NvList::iter) {
                if *of == NvValue::U64(guid) {
                    return Some((dataset, name));
                }
            }
        }
        None
    }
}

fn values(list: &NvList) -> Vec<(String, RawValue)> {
    let plain = |value: &NvValue| match value {
        NvValue::U64(number) => Some(RawValue::Number(*number)),
        NvValue::String(text) => Some(RawValue::Text(text.clone())),
        _ => None,
    };
    let value = |value: &NvValue| match value {
        // Older senders wrap them.
        NvValue::NvList(of) => of.get("value").and_then(plain),
        value => plain(value),
    };
    list.iter().filter_map(|(name, of)| Some((name.to_owned(), value(of)?))).collect()
}
