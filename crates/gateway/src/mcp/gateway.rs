//! The [`Gateway`]: the state that all client connections share.

use std::{sync::Arc, time::Duration};

use narrows_engine::{
    Discovery, Engine, UnderWay, broker::Broker, state::Agent, token_stats::TokenStats,
};
use narrows_model::Principal;
use rmcp::{RoleServer, service::RequestContext};

use super::{
    http::{self, CallerId},
    pending_input::PendingInputs,
    proxy_listing::Passthrough,
    token_notice::TokenNotice,
    tools::own_tools,
};

const HOUSE_INTERVAL: Duration = Duration::from_secs(30);

/// The set of the gateway's own tools that a client sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Surface {
    /// execute_code, search_tools and get_tool_definition.
    #[default]
    Core,
    /// All of them.
    Full,
}

/// The state that all client connections share.
pub(crate) struct Gateway {
    pub(super) broker: Broker,
    pub(super) engine: Arc<Engine>,
    pub(super) token_stats: Arc<TokenStats>,
    pub(super) passthrough: Passthrough,
    /// The principal of clients that do not say who they are.
    principal: Arc<Principal>,
    pub(super) surface: Surface,
    pub(super) parked: PendingInputs,
    /// The work that is done for clients now; [`Gateway::give_up_work`] waits for its end.
    pub(super) under_way: UnderWay,
    pub(super) token_notice: TokenNotice,
}

impl Gateway {
    pub(crate) fn new(
        engine: Arc<Engine>,
        token_stats: Arc<TokenStats>,
        principal: Principal,
        surface: Surface,
    ) -> Arc<Self> {
        let broker = engine.discovery().broker().clone();
        Arc::new(Self {
            passthrough: Passthrough::new(broker.clone(), own_tools(surface)),
            broker,
            engine,
            token_stats,
            principal: Arc::new(principal),
            surface,
            parked: PendingInputs::default(),
            under_way: UnderWay::default(),
            token_notice: TokenNotice::default(),
        })
    }

    /// Starts to warm up the sandbox and the servers in the background, and to remove expired work
    /// regularly.
    pub(crate) fn warm_up(self: &Arc<Self>) {
        let engine = Arc::clone(&self.engine);
        tokio::task::spawn_blocking(move || {
            if let Err(error) = engine.warm_up() {
                tracing::error!(%error, "the sandbox does not start, and no program can run");
            }
        });
        self.broker.fleet().warm_up();
        self.keep_house();
    }

    /// Starts a task that removes expired [`PendingInputs`] every [`HOUSE_INTERVAL`], as long as the
    /// gateway exists.
    fn keep_house(self: &Arc<Self>) {
        let gateway = Arc::downgrade(self);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(HOUSE_INTERVAL).await;
                let Some(gateway) = gateway.upgrade() else { return };
                gateway.parked.remove_expired();
            }
        });
    }

    pub(crate) fn discovery(&self) -> &Discovery {
        self.engine.discovery()
    }

    /// Returns the agent of a request: the store as its principal may see it.
    pub(super) fn agent(&self, context: &RequestContext<RoleServer>) -> Agent {
        self.agent_with(http::principal(context), http::caller_id(context))
    }

    /// Returns the agent of a principal, or the default one if there is none. All keys that belong to no
    /// agent are that one principal, but each key has its own share of what is shared fairly.
    pub(super) fn agent_with(
        &self,
        principal: Option<Arc<Principal>>,
        key: Option<CallerId>,
    ) -> Agent {
        match (principal, key) {
            (Some(principal), _) => self.engine.agent(principal),
            (None, None) => self.engine.agent(Arc::clone(&self.principal)),
            (None, Some(CallerId(number))) => {
                // No agent is called so: their names have no spaces.
                let caller = format!("key {number}");
                self.engine.agent(Arc::clone(&self.principal)).sharing_as(caller)
            }
        }
    }

    /// Drops work that waits for answers of clients, all of whom have left. Then waits until all other
    /// work has ended and its outcome was handed to the audit.
    pub(crate) async fn give_up_work(&self) {
        self.parked.remove_all();
        self.under_way.ended().await;
    }

    /// Waits, for a limited time, for calls under way that may change something.
    pub(crate) async fn finish_writes(&self) {
        self.broker.finish_writes().await;
    }

    /// Ends all servers, then closes the store once pending writes are done.
    pub(crate) async fn shut_down(&self) {
        self.broker.fleet().shut_down().await;
        self.engine.state().close().await;
    }
}

impl std::fmt::Debug for Gateway {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gateway").field("surface", &self.surface).finish_non_exhaustive()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use narrows_engine::{Background, DiscoverySettings};
    use narrows_sandbox::SandboxConfig;
    use tempfile::TempDir;

    use super::*;
    use crate::{
        app,
        config::{AppDirs, Config},
    };

    /// A gateway without servers.
    pub(in crate::mcp) fn gateway() -> (TempDir, Arc<Gateway>) {
        let home = tempfile::tempdir().unwrap();
        let places = AppDirs::below(home.path());
        let broker = app::broker(&places, Vec::new()).unwrap();
        let background = Background::default();
        let discovery =
            Arc::new(Discovery::new(broker, DiscoverySettings::default(), background.clone()));
        let state = app::state(&places, &Config::default()).unwrap();
        let engine = Engine::new(discovery, state, SandboxConfig::default());
        let token_stats = TokenStats::new(None, background);
        (home, Gateway::new(engine, token_stats, Principal::local(), Surface::Core))
    }

    /// One key took the places of all that are nobody's in particular.
    #[tokio::test]
    async fn each_key_has_a_share_of_its_own_of_what_is_shared_fairly() {
        let (_home, gateway) = gateway();
        let key = |number| gateway.agent_with(None, Some(CallerId(number)));
        let (first, second) = (key(1), key(2));
        assert_ne!(first.fair_caller(), second.fair_caller());
        assert_eq!(first.fair_caller(), key(1).fair_caller());
        assert_eq!(first.principal(), second.principal());
        // An agent is who it is with any key, and whoever has none is local.
        let ada = Arc::new(Principal::new("ada", "ada"));
        let ada = gateway.agent_with(Some(ada), Some(CallerId(3)));
        assert_eq!((&**ada.fair_caller(), &*ada.principal().name), ("ada", "ada"));
        assert_eq!(&**gateway.agent_with(None, None).fair_caller(), "local");
    }
}
