//! The upstream server of the demo.

use crate::app::Exit;

pub(crate) async fn serve() -> anyhow::Result<Exit> {
    Ok(Exit::Success)
}
