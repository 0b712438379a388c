//! Faults that an operator asks for.

use crate::app::{App, Body, Shared, blocking, parse};
use crate::problem::{Refusal, refuse};
use api_types::{
    ActiveFault, BlockError, BlockFault, BlockKind, BlockRange, Condemn, DeviceFault, Fault, FaultCancel,
    FaultEffect, FaultIo, kind,
};
use axum::extract::{Path, State};
use axum::response::Response;

pub async fn list(State(app): State<Shared>) -> Response {
    blocking(app, |app| Ok(active(app))).await
}

fn active(app: &App) -> Vec<ActiveFault> {
    app.engine().diagnostics().injected().into_iter().map(shown).collect()
}

fn shown(active: engine_api::ActiveFault) -> ActiveFault {
    let fault = match active.fault {
        engine_api::Fault::Device(fault) => Fault::Device(to_wire(fault)),
        engine_api::Fault::Blocks(fault) => Fault::Blocks(blocks_to_wire(fault)),
    };
    ActiveFault { id: active.id, fault, matched: active.matched, injected: active.injected }
}

pub async fn inject(State(app): State<Shared>, body: Body) -> Response {
    let request = parse::<Fault>(body);
    blocking(app, move |app| {
        let fault = match request? {
            Fault::Device(fault) => engine_api::Fault::Device(of_wire(&fault)),
            Fault::Blocks(fault) => engine_api::Fault::Blocks(blocks_of_wire(fault)),
        };
        app.engine().diagnostics().inject(&fault).map(shown).map_err(Refusal::from)
    })
    .await
}

pub async fn cancel(State(app): State<Shared>, body: Body) -> Response {
    let request = parse::<FaultCancel>(body);
    blocking(app, move |app| {
        let FaultCancel { id } = request?;
        if app.engine().diagnostics().cancel_fault(id) {
            Ok(active(app))
        } else {
            Err(refuse(kind::NOT_FOUND, "No such file or directory"))
        }
    })
    .await
}

pub async fn condemn(State(app): State<Shared>, Path(name): Path<String>, body: Body) -> Response {
    let request = parse::<Condemn>(body);
    blocking(app, move |app| {
        let Condemn { guid, fault } = request?;
        let how = if fault { engine_api::Condemn::Fault } else { engine_api::Condemn::Degrade };
        app.engine().diagnostics().condemn(&name, guid, how).map_err(Refusal::from)
    })
    .await
}

fn of_wire(fault: &DeviceFault) -> engine_api::DeviceFault {
    engine_api::DeviceFault {
        pool: fault.pool.clone(),
        guid: fault.guid,
        io: match fault.io {
            FaultIo::Read => engine_api::FaultIo::Read,
            FaultIo::Write => engine_api::FaultIo::Write,
            FaultIo::Flush => engine_api::FaultIo::Flush,
            FaultIo::Trim => engine_api::FaultIo::Trim,
            FaultIo::All => engine_api::FaultIo::All,
        },
        effect: match fault.effect {
            FaultEffect::Io => engine_api::FaultEffect::Io,
            FaultEffect::Missing => engine_api::FaultEffect::Missing,
            FaultEffect::Corrupt => engine_api::FaultEffect::Corrupt,
            FaultEffect::Ignore => engine_api::FaultEffect::Ignore,
            FaultEffect::Delay(nanos) => engine_api::FaultEffect::Delay(nanos),
        },
        rate: fault.rate,
    }
}

fn to_wire(fault: engine_api::DeviceFault) -> DeviceFault {
    DeviceFault {
        pool: fault.pool,
        guid: fault.guid,
        io: match fault.io {
            engine_api::FaultIo::Read => FaultIo::Read,
            engine_api::FaultIo::Write => FaultIo::Write,
            engine_api::FaultIo::Flush => FaultIo::Flush,
            engine_api::FaultIo::Trim => FaultIo::Trim,
            engine_api::FaultIo::All => FaultIo::All,
        },
        effect: match fault.effect {
            engine_api::FaultEffect::Io => FaultEffect::Io,
            engine_api::FaultEffect::Missing => FaultEffect::Missing,
            engine_api::FaultEffect::Corrupt => FaultEffect::Corrupt,
            engine_api::FaultEffect::Ignore => FaultEffect::Ignore,
            engine_api::FaultEffect::Delay(nanos) => FaultEffect::Delay(nanos),
        },
        rate: fault.rate,
    }
}

fn blocks_of_wire(fault: BlockFault) -> engine_api::BlockFault {
    engine_api::BlockFault {
        pool: fault.pool,
        kind: match fault.kind {
            BlockKind::Object => engine_api::BlockKind::Object,
            BlockKind::Dnode => engine_api::BlockKind::Dnode,
            BlockKind::Mos => engine_api::BlockKind::Mos,
            BlockKind::MosDir => engine_api::BlockKind::MosDir,
            BlockKind::Metaslab => engine_api::BlockKind::Metaslab,
            BlockKind::Config => engine_api::BlockKind::Config,
            BlockKind::Bpobj => engine_api::BlockKind::Bpobj,
            BlockKind::SpaceMap => engine_api::BlockKind::SpaceMap,
            BlockKind::ErrorLog => engine_api::BlockKind::ErrorLog,
        },
        dataset: fault.dataset,
        objset: fault.objset,
        object: fault.object,
        level: fault.level,
        range: match fault.range {
            BlockRange::All => engine_api::BlockRange::All,
            BlockRange::Blocks(first, last) => engine_api::BlockRange::Blocks(first, last),
            BlockRange::Bytes(first, last) => engine_api::BlockRange::Bytes(first, last),
        },
        copies: fault.copies,
        error: match fault.error {
            BlockError::Io => engine_api::BlockError::Io,
            BlockError::Checksum => engine_api::BlockError::Checksum,
        },
        rate: fault.rate,
    }
}

fn blocks_to_wire(fault: engine_api::BlockFault) -> BlockFault {
    BlockFault {
        pool: fault.pool,
        kind: match fault.kind {
            engine_api::BlockKind::Object => BlockKind::Object,
            engine_api::BlockKind::Dnode => BlockKind::Dnode,
            engine_api::BlockKind::Mos => BlockKind::Mos,
            engine_api::BlockKind::MosDir => BlockKind::MosDir,
            engine_api::BlockKind::Metaslab => BlockKind::Metaslab,
            engine_api::BlockKind::Config => BlockKind::Config,
            engine_api::BlockKind::Bpobj => BlockKind::Bpobj,
            engine_api::BlockKind::SpaceMap => BlockKind::SpaceMap,
            engine_api::BlockKind::ErrorLog => BlockKind::ErrorLog,
        },
        dataset: fault.dataset,
        objset: fault.objset,
        object: fault.object,
        level: fault.level,
        range: match fault.range {
            engine_api::BlockRange::All => BlockRange::All,
            engine_api::BlockRange::Blocks(first, last) => BlockRange::Blocks(first, last),
            engine_api::BlockRange::Bytes(first, last) => BlockRange::Bytes(first, last),
        },
        copies: fault.copies,
        error: match fault.error {
            engine_api::BlockError::Io => BlockError::Io,
            engine_api::BlockError::Checksum => BlockError::Checksum,
        },
        rate: fault.rate,
    }
}
