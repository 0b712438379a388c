//! Other programs: commands that have to succeed, and servers that run as long as they are wanted.

use std::process::{Child, Command};
use std::time::Duration;

use load::Fail;

/// Runs a command that has to succeed; its output.
pub fn ended(command: &mut Command) -> Result<String, Fail> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("{name}: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{name}: {}", said.trim().lines().last().unwrap_or("failed")).into());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A server that ends with the value.
pub struct Server(pub Child);

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Asks until the answer is yes.
pub fn wait_until(what: &str, mut is_there: impl FnMut() -> bool) -> Result<(), Fail> {
    for _ in 0..150 {
        if is_there() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    Err(format!("{what} does not answer").into())
}
