//! Traces: who asks for one is sent the requests of clients that he wants to see, as they end.
//!
//! What is wanted is put into numbers once, when it begins ([`filter`]). Names of datasets and
//! files are looked up here, off the path of requests, and kept for a few seconds.
//!
//! Invariants: there are so many at a time at the most (`App::traces`), each with [`ROOM`] bytes of
//! records. A trace ends by itself when its time is over; who takes nothing for [`STUCK`] is cut
//! before. What he did not take in time he is told the number of.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use analytics::{Filter, Ring, Seen};
use api_types::{
    BlockSources, RequestFilter, TRACE_SECONDS, TRACE_SECONDS_MAX, TraceEnd, TraceEvent, TraceRequest,
    TracedRequest, kind,
};
use axum::body::Bytes;
use engine_api::{Cred, Error, Place, PlaceName};
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

use crate::app::App;
use crate::devices::{self, Device};
use crate::problem::{Refusal, refuse};

/// Bytes of records that wait for a reader.
const ROOM: usize = 4 << 20;
/// How long a reader may take nothing.
const STUCK: Duration = Duration::from_secs(60);
/// How often he is sent something though nothing happens.
const QUIET: Duration = Duration::from_secs(15);
/// How often it is looked whether he is still there, and whether he takes more.
const LOOK: Duration = Duration::from_millis(200);
const TRY: Duration = Duration::from_millis(20);
/// Records that are sent together.
const BATCH: usize = 256;
/// How long names are believed, and how many are kept.
const BELIEVED: Duration = Duration::from_secs(5);
const NAMES: usize = 8_192;

/// What is wanted, in numbers. Refused where a dataset or file is not there.
pub fn filter(app: &App, wanted: &RequestFilter) -> Result<Filter, Refusal> {
    let RequestFilter { protocol, served, .. } = *wanted;
    let place = match (&wanted.dataset, &wanted.file) {
        (None, None) => None,
        (None, Some(_)) => {
            return Err(refuse(kind::BAD_REQUEST, "a file is named within a dataset: say which".to_owned()));
        }
        (Some(dataset), file) => Some(place_of(app, dataset, file.as_deref())?),
    };
    let nanos = |micros: u64| micros.saturating_mul(1_000);
    Ok(Filter {
        protocol,
        client: wanted.client.clone(),
        user: wanted.user.clone(),
        dataset: place.map(|place| (place.pool_guid, place.dataset_guid)),
        object: place.and_then(|place| place.object),
        operation: wanted.operation.clone(),
        offset: (wanted.offset_from, wanted.offset_to),
        bytes: (wanted.min_bytes, wanted.max_bytes),
        // A time is cut off to microseconds.
        took: (wanted.slower_us.map(nanos), wanted.faster_us.map(|most| nanos(most).saturating_add(999))),
        served,
        device: wanted.device.as_deref().map(|device| devices::find(app, device)).transpose()?,
    })
}

fn place_of(app: &App, dataset: &str, file: Option<&str>) -> Result<Place, Refusal> {
    let pool = app.pool_of(dataset)?;
    let fs = match pool.open_fs(dataset) {
        Ok(fs) => fs,
        Err(why) => {
            let volume = pool.open_volume(dataset).map_err(|_| why)?.id();
            if file.is_some() {
                return Err(refuse(kind::BAD_REQUEST, format!("{dataset} is a volume and has no files")));
            }
            let (pool_guid, dataset_guid) = (volume.pool_guid, volume.dataset_guid);
            return Ok(Place { pool_guid, dataset_guid, object: None });
        }
    };
    let mut place = Place::dataset(fs.id());
    let Some(file) = file else { return Ok(place) };
    let mut node = fs.root();
    for name in file.split('/').filter(|name| !name.is_empty()) {
        let found = fs.lookup(&Cred::root(), node, name.as_bytes());
        node = found
            .map_err(|error| match error {
                Error::NotFound | Error::NotDir => {
                    refuse(kind::NOT_FOUND, format!("there is no file '{file}' in {dataset}"))
                }
                error => error.into(),
            })?
            .node;
    }
    place.object = Some(node.object);
    Ok(place)
}

/// Sends a trace until it ends, on a thread that may wait.
pub fn tell(app: &App, request: &TraceRequest, filter: Filter, to: &mpsc::Sender<Bytes>) {
    let seconds = request.seconds.unwrap_or(TRACE_SECONDS).clamp(1, TRACE_SECONDS_MAX);
    let end = Instant::now() + Duration::from_secs(seconds);
    let ring = Arc::new(Ring::new(filter, ROOM));
    app.program.observer().show(&ring);
    let mut names = Names::default();
    let mut left = request.count.unwrap_or(u64::MAX);
    let mut piece = text(&TraceEvent::Began { seconds });
    let mut sent = Instant::now();
    loop {
        if !piece.is_empty() {
            if !send(to, piece.into()) {
                return;
            }
            sent = Instant::now();
        }
        let now = Instant::now();
        let why = match () {
            () if to.is_closed() => return,
            () if app.feed.is_closed() => Some(TraceEnd::Stopping),
            () if now >= end => Some(TraceEnd::Time),
            () if left == 0 => Some(TraceEnd::Count),
            () => None,
        };
        if let Some(why) = why {
            send(to, text(&TraceEvent::Ended { why }).into());
            return;
        }
        let most = BATCH.min(usize::try_from(left).unwrap_or(BATCH));
        let taken = ring.take(most, LOOK.min(end - now));
        left -= taken.seen.len() as u64;
        piece = String::new();
        for request in names.tell(app, &taken.seen) {
            piece += &text(&TraceEvent::Request(Box::new(request)));
        }
        if taken.lost > 0 {
            piece += &text(&TraceEvent::Lost { requests: taken.lost });
        }
        if piece.is_empty() && sent.elapsed() >= QUIET {
            ":\n\n".clone_into(&mut piece);
        }
    }
}

fn text(event: &TraceEvent) -> String {
    // Plain data always has a form in JSON.
    format!("data: {}\n\n", serde_json::to_string(event).unwrap_or_default())
}

/// False: nobody takes it.
fn send(to: &mpsc::Sender<Bytes>, piece: Bytes) -> bool {
    let (mut piece, begun) = (piece, Instant::now());
    loop {
        piece = match to.try_send(piece) {
            Ok(()) => return true,
            Err(TrySendError::Closed(_)) => return false,
            Err(TrySendError::Full(piece)) => piece,
        };
        if begun.elapsed() >= STUCK {
            return false;
        }
        std::thread::sleep(TRY);
    }
}

/// Names that were looked up lately.
pub struct Names {
    known: HashMap<Place, PlaceName>,
    /// All there are, once somebody has asked for one.
    devices: Option<HashMap<Device, String>>,
    since: Instant,
}

impl Default for Names {
    fn default() -> Names {
        Names { known: HashMap::new(), devices: None, since: Instant::now() }
    }
}

fn place(seen: &Seen) -> Option<Place> {
    let (pool_guid, dataset_guid) = seen.trail.dataset?;
    Some(Place { pool_guid, dataset_guid, object: seen.trail.object })
}

impl Names {
    fn tell(&mut self, app: &App, seen: &[Seen]) -> Vec<TracedRequest> {
        if self.since.elapsed() >= BELIEVED || self.known.len() > NAMES {
            *self = Names::default();
        }
        self.look_up(app, seen.iter().filter_map(place));
        self.look_up_devices(app, seen.iter().filter_map(Seen::device));
        seen.iter().map(|seen| self.told(seen)).collect()
    }

    /// Has names for these afterwards.
    pub fn look_up(&mut self, app: &App, places: impl Iterator<Item = Place>) {
        let mut unknown: Vec<Place> = places.filter(|place| !self.known.contains_key(place)).collect();
        unknown.sort_unstable();
        unknown.dedup();
        if !unknown.is_empty() {
            let found = app.engine().names_of(&unknown);
            self.known.extend(unknown.into_iter().zip(found));
        }
    }

    /// Has names for these leaf vdevs afterwards.
    pub fn look_up_devices(&mut self, app: &App, mut wanted: impl Iterator<Item = Device>) {
        if self.devices.is_none() && wanted.next().is_some() {
            self.devices = Some(devices::names(app));
        }
    }

    /// As a filter takes it; `None`: it is no more.
    pub fn of_device(&self, device: &Device) -> Option<&String> {
        self.devices.as_ref()?.get(device)
    }

    pub fn of(&self, place: &Place) -> Option<&PlaceName> {
        self.known.get(place)
    }

    /// For people: one that is no more is shown by its guid.
    pub fn device(&self, device: &Device) -> String {
        self.of_device(device).cloned().unwrap_or_else(|| format!("<{}>", device.1))
    }

    fn told(&self, seen: &Seen) -> TracedRequest {
        let name = place(seen).and_then(|place| self.of(&place));
        let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let trail = &seen.trail;
        let [overlay, cache, disk] = trail.blocks;
        TracedRequest {
            time: seen.time,
            protocol: seen.protocol,
            client: seen.client.to_string(),
            user: seen.user(),
            operation: seen.operation.to_owned(),
            dataset: name.and_then(|name| name.dataset.clone()),
            file: name.and_then(|name| name.path.as_deref()).map(shown),
            object: trail.object,
            name: trail.name.as_deref().map(shown),
            offset: trail.offset,
            bytes: trail.bytes,
            took: seen.took(),
            stages: seen.times(),
            blocks: BlockSources { overlay, cache, disk },
            served: seen.served_by(),
            device: seen.device().map(|device| self.device(&device)),
        }
    }
}
