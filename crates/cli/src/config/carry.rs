//! Does one step.

use std::fs::File;
use std::io::Read;

use api_types::{
    AlertRoute, AlertSettings, Allow, Changed, DatasetCreate, Inherit, LogFilter, PropertiesSet,
    PropertyChange, RouteAdd, RouteChange, Secret, ServiceAsk, ServiceCommand, ServiceCreate, ServiceSet,
    TunableSet, Unallow, User, UserAdd, UserChange, Warnings, WorksheetAdd, WorksheetChange, routes,
};
use stdx::os_error::words;

use super::plan::Step;
use super::state::{Account, Dataset, Kind, Route, Service, Worksheet, grant, unset_value};
use crate::client::Client;
use crate::fail::Stop;

/// What a pool's history says of it.
const HISTORY: &str = "cistern apply";
/// Bytes of a password that nobody is told.
const PASSWORD: usize = 24;

/// Gives what went wrong beside it.
pub fn carry_out(step: &Step, client: &Client) -> Result<Warnings, Stop> {
    let history = HISTORY.to_owned();
    match step {
        Step::Create { dataset, is } => {
            let changed: Changed = client.post(routes::DATASETS, &creation(dataset, is))?;
            Ok(changed.warnings)
        }
        Step::Grow { dataset, to, .. } => set(client, dataset, "volsize", &to.to_string()),
        Step::Set { dataset, property, value, .. } => set(client, dataset, property, value),
        Step::Unset { dataset, property, .. } => match unset_value(property) {
            Some(value) => set(client, dataset, property, &value),
            None => {
                // What a stream brought is in force again.
                let request = Inherit { property: property.clone(), received: true, history };
                let path = routes::at(routes::DATASET_INHERIT, dataset);
                Ok(client.post::<Changed>(&path, &request)?.warnings)
            }
        },
        Step::Allow { dataset, who, permissions } => {
            let grants = grant(who, &permissions.iter().cloned().collect()).into_iter().collect();
            let path = routes::at(routes::DATASET_ALLOW, dataset);
            Ok(client.post::<Changed>(&path, &Allow { grants, history })?.warnings)
        }
        Step::Unallow { dataset, who, permissions } => {
            let grants = grant(who, &permissions.iter().cloned().collect()).into_iter().collect();
            let path = routes::at(routes::DATASET_UNALLOW, dataset);
            Ok(client.post::<Changed>(&path, &Unallow { grants, recursive: false, history })?.warnings)
        }
        Step::AddUser { name, account } => {
            let (name, role, uid) = (name.clone(), account.role, account.uid);
            let new = UserAdd { name: name.clone(), password: random_password()?, role, uid };
            client.post::<User>(routes::USERS, &new)?;
            // Who is added can log in, as far as the daemon knows.
            if account.disabled { change_user(client, &name, account) } else { Ok(Warnings::default()) }
        }
        Step::ChangeUser { name, account, .. } => change_user(client, name, account),
        Step::RemoveUser { name } => {
            client.post::<()>(&routes::at(routes::USER_REMOVE, name), &())?;
            Ok(Warnings::default())
        }
        Step::Tune { name, value, .. } | Step::Untune { name, value, .. } => {
            client.post::<()>(routes::TUNABLES, &TunableSet { name: name.clone(), value: *value })?;
            Ok(Warnings::default())
        }
        Step::Log { filter, .. } => {
            client.post::<LogFilter>(routes::LOG, &LogFilter { filter: filter.clone() })?;
            Ok(Warnings::default())
        }
        Step::Alerts { settings, .. } => {
            client.post::<AlertSettings>(routes::ALERT_SETTINGS, settings)?;
            Ok(Warnings::default())
        }
        Step::AddRoute { name, is } => {
            let Route { target, least, disabled, secret } = is.clone();
            let new = RouteAdd { name: name.clone(), target, least, disabled, secret };
            client.post::<AlertRoute>(routes::ALERT_ROUTES, &new)?;
            Ok(Warnings::default())
        }
        Step::ChangeRoute { name, is, .. } => {
            let Route { target, least, disabled, .. } = is.clone();
            let (target, least, disabled) = (Some(target), Some(least), Some(disabled));
            let change = RouteChange { target, least, disabled, secret: None };
            client.post::<AlertRoute>(&routes::at(routes::ALERT_ROUTE_CHANGE, name), &change)?;
            Ok(Warnings::default())
        }
        Step::RemoveRoute { name } => {
            client.post::<()>(&routes::at(routes::ALERT_ROUTE_REMOVE, name), &())?;
            Ok(Warnings::default())
        }
        Step::AddService { name, is: Service { disabled, spec } } => {
            let new = ServiceCreate { id: name.clone(), spec: spec.clone(), enabled: !disabled };
            client.post::<api_types::Service>(routes::SERVICES, &new)?;
            Ok(Warnings::default())
        }
        Step::AddWorksheet { name, is: Worksheet { panes } } => {
            let new = WorksheetAdd { name: name.clone(), panes: panes.clone() };
            client.post::<api_types::Worksheet>(routes::WORKSHEETS, &new)?;
            Ok(Warnings::default())
        }
        Step::ChangeWorksheet { name, is: Worksheet { panes }, .. } => {
            let change = WorksheetChange { panes: panes.clone() };
            client.post::<api_types::Worksheet>(&routes::at(routes::WORKSHEET_CHANGE, name), &change)?;
            Ok(Warnings::default())
        }
        Step::RemoveWorksheet { name } => {
            client.post::<()>(&routes::at(routes::WORKSHEET_REMOVE, name), &())?;
            Ok(Warnings::default())
        }
        Step::ChangeService { name, before, is } => change_service(client, name, before, is),
        Step::RemoveService { name } => {
            client.post::<()>(&routes::at(routes::SERVICE_REMOVE, name), &())?;
            Ok(Warnings::default())
        }
    }
}

fn change_service(client: &Client, name: &str, before: &Service, is: &Service) -> Result<Warnings, Stop> {
    if before.spec != is.spec {
        let spec = is.spec.clone();
        let path = routes::at(routes::SERVICE_SPEC, name);
        client.post::<api_types::Service>(&path, &ServiceSet { spec })?;
    }
    if before.disabled != is.disabled {
        let command = if is.disabled { ServiceCommand::Disable } else { ServiceCommand::Enable };
        let path = routes::at(routes::SERVICE_COMMAND, name);
        client.post::<api_types::Service>(&path, &ServiceAsk { command })?;
    }
    Ok(Warnings::default())
}

fn creation(name: &str, is: &Dataset) -> DatasetCreate {
    let size = is.volsize.map(|size| ("volsize".to_owned(), size.to_string()));
    let given = is.created.iter().chain(&is.properties);
    let props = given.map(|(name, value)| (name.clone(), value.clone())).chain(size);
    DatasetCreate {
        name: name.to_owned(),
        volume: is.kind == Kind::Volume,
        // What it keeps is a property as others.
        sparse: true,
        props: props.map(|(name, value)| PropertyChange { name, value }).collect(),
        history: HISTORY.to_owned(),
        ..DatasetCreate::default()
    }
}

fn set(client: &Client, dataset: &str, property: &str, value: &str) -> Result<Warnings, Stop> {
    let props = vec![PropertyChange { name: property.to_owned(), value: value.to_owned() }];
    let request = PropertiesSet { props, no_mount: false, history: HISTORY.to_owned() };
    let path = routes::at(routes::DATASET_PROPERTIES, dataset);
    Ok(client.post::<Changed>(&path, &request)?.warnings)
}

fn change_user(client: &Client, name: &str, account: &Account) -> Result<Warnings, Stop> {
    let change = UserChange {
        role: Some(account.role),
        disabled: Some(account.disabled),
        uid: account.uid,
        ..UserChange::default()
    };
    client.post::<User>(&routes::at(routes::USER_CHANGE, name), &change)?;
    Ok(Warnings::default())
}

/// One that nobody knows.
fn random_password() -> Result<Secret, Stop> {
    let mut bytes = [0; PASSWORD];
    let read = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    read.map_err(|error| Stop::Fail(format!("cannot make a password: {}", words(&error))))?;
    Ok(Secret(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
}
