//! Projects of files and directories: what their space is counted for beside user and group.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most nodes that one request may name, or one answer tells of.
pub const PROJECT_NODES_MAX: usize = 1000;

/// Query of `GET /v1/datasets/{name}/projects`, of a file system.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ProjectQuery {
    /// From the file system's root on, as [`crate::escape_path`] has it; links are not followed.
    pub path: String,
    /// What is in the directory too.
    pub entries: bool,
    /// The `next` of the page before.
    pub after: u64,
}

/// A regular file or directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeProject {
    /// In its directory, as [`crate::escape_path`] has it; empty for the node that was asked for.
    pub name: String,
    pub is_dir: bool,
    pub project: u32,
    /// What is made in it belongs to its project.
    pub inherit: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProjectPage {
    pub node: NodeProject,
    /// Those in the directory that have projects, some [`PROJECT_NODES_MAX`] at a time.
    pub entries: Vec<NodeProject>,
    /// Where there are more.
    pub next: Option<u64>,
}

/// `POST /v1/datasets/{name}/projects`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ProjectSet {
    /// As in [`ProjectQuery`].
    pub path: String,
    /// Which of the directory's entries; an empty name is the node at the path itself.
    /// [`PROJECT_NODES_MAX`] at most.
    pub names: Vec<String>,
    pub project: Option<u32>,
    pub inherit: Option<bool>,
}

/// How far that went: in their order, until one could not be set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProjectsSet {
    pub done: usize,
    /// Why the one after those was not.
    pub failed: Option<crate::Problem>,
}
