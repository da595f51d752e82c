//! x
use crate::{app::Exit, cli::DemoArgs, printer::Printer};
pub(crate) async fn run(_args: DemoArgs, _printer: Printer) -> anyhow::Result<Exit> {
    Ok(Exit::Success)
}
