//! Services in the machine's database, as JSON.

use std::sync::Arc;

use api_types::{By, LastRun, ServiceLog, ServiceLogEntry};
use appliance::{Kept, Shelf, ShelfFault, Spoilt};
use machine::{AuditEntry, Fault, KeptService, Machine, Tally, Weight};
use serde::Serialize;
use serde::de::DeserializeOwned;
use services::clock::Clock;

/// The database; `None`: it could not be opened.
pub struct Cabinet(pub Option<Arc<Machine>>);

impl Cabinet {
    fn machine(&self) -> Result<&Machine, ShelfFault> {
        self.0.as_deref().ok_or(ShelfFault::Missing)
    }
}

fn fault(fault: Fault) -> ShelfFault {
    match fault {
        Fault::Full => ShelfFault::Full,
        other => ShelfFault::Failed(other.to_string()),
    }
}

fn text(what: &impl Serialize) -> Result<String, ShelfFault> {
    serde_json::to_string(what).map_err(|error| ShelfFault::Failed(error.to_string()))
}

fn parsed<T: DeserializeOwned>(text: &str) -> Result<T, ShelfFault> {
    serde_json::from_str(text).map_err(|error| ShelfFault::Failed(error.to_string()))
}

fn written(kept: &Kept) -> Result<KeptService, ShelfFault> {
    let id = kept.instance.id.clone();
    Ok(KeptService { id, instance: text(&kept.instance)?, memory: text(&kept.memory)? })
}

fn read(found: &KeptService) -> Result<Kept, Spoilt> {
    let spoilt = |error: serde_json::Error| Spoilt { id: found.id.clone(), why: error.to_string() };
    let instance = serde_json::from_str(&found.instance).map_err(spoilt)?;
    // What it remembers follows anew from what is there.
    let memory = serde_json::from_str(&found.memory).unwrap_or_else(|error| {
        tracing::warn!(id = found.id, %error, "what this service remembers is lost");
        appliance::Memory::default()
    });
    Ok(Kept { instance, memory })
}

impl Shelf for Cabinet {
    fn services(&self) -> Result<Vec<Result<Kept, Spoilt>>, ShelfFault> {
        Ok(self.machine()?.services().map_err(fault)?.iter().map(read).collect())
    }

    fn set(&self, kept: &Kept, lines: &[ServiceLog]) -> Result<(), ShelfFault> {
        let lines = lines.iter().map(text).collect::<Result<Vec<_>, _>>()?;
        match self.machine()?.set_service(&written(kept)?, &lines).map_err(fault)? {
            true => Ok(()),
            false => Err(ShelfFault::TooMany),
        }
    }

    fn note(&self, kept: &Kept, lines: &[ServiceLog]) -> Result<(), ShelfFault> {
        let texts = lines.iter().map(text).collect::<Result<Vec<_>, _>>()?;
        let machine = self.machine()?;
        machine.note_service(&written(kept)?, &texts).map_err(fault)?;
        let runs = lines.iter().filter_map(|line| match &line.entry {
            ServiceLogEntry::Ended { run } => Some(run),
            _ => None,
        });
        for run in runs {
            let LastRun { ended, done, destroyed, failed, .. } = run;
            let tally = Tally { runs: 1, failed: u64::from(*failed > 0), done: *done, destroyed: *destroyed };
            machine.tally_run(&kept.instance.id, *ended, tally).map_err(fault)?;
        }
        Ok(())
    }

    fn record(&self, id: &str, run: &LastRun) -> Result<(), ShelfFault> {
        let LastRun { ended, done, destroyed, failed, .. } = run;
        let entry = AuditEntry {
            weight: Weight::Operator,
            time: *ended,
            who: &format!("service {id}"),
            by: By::Nobody,
            address: None,
            verb: "RUN",
            path: &format!("/v1/services/{id}"),
            target: Some(&format!("{done} done, {destroyed} destroyed, {failed} failed")),
            status: 200,
        };
        self.machine()?.note(&[entry]).map_err(fault)
    }

    fn remove(&self, id: &str) -> Result<(), ShelfFault> {
        self.machine()?.remove_service(id).map(drop).map_err(fault)
    }

    fn log(&self, id: &str) -> Result<Vec<ServiceLog>, ShelfFault> {
        self.machine()?.service_log(id).map_err(fault)?.iter().map(|line| parsed(line)).collect()
    }

    fn clock(&self) -> Result<Option<Clock>, ShelfFault> {
        match &self.0 {
            None => Ok(None),
            Some(machine) => machine.service_clock().map_err(fault)?.as_deref().map(parsed).transpose(),
        }
    }

    fn note_clock(&self, clock: &Clock) -> Result<(), ShelfFault> {
        self.machine()?.note_service_clock(&text(clock)?).map_err(fault)
    }
}
