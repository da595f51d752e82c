//! A broker of fake servers inside this process, for tests.

use narrows_model::ServerSpec;

pub(crate) use narrows_upstream::fakes::{FakeReply, FakeServer};

use crate::{broker::Broker, catalog::PythonNaming};

/// Returns a broker with the servers in `running`, which are started, and those in `others`, which
/// cannot be started.
pub(crate) async fn broker(running: &[&FakeServer], others: &[ServerSpec]) -> Broker {
    let (catalog, fleet) = narrows_upstream::fakes::fleet(running, others, &PythonNaming).await;
    Broker::new(catalog, fleet)
}
