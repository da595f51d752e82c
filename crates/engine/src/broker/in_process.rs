//! A broker of servers inside of this process.

use narrows_model::ServerSpec;

pub(crate) use narrows_upstream::fakes::{FakeReply, FakeServer};

use crate::{broker::Broker, catalog::PythonNaming};

/// Returns a broker of these servers, all of them running, and of others that cannot be started.
pub(crate) async fn broker(running: &[&FakeServer], others: &[ServerSpec]) -> Broker {
    let (catalog, fleet) = narrows_upstream::fakes::fleet(running, others, &PythonNaming).await;
    Broker::new(catalog, fleet)
}
