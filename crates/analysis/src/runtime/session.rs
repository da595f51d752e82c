//! The DataFusion session of one analysis: its memory, its disk, and the features that it is allowed.

use std::{
    fs::{self, File},
    path::Path,
    sync::Arc,
    time::Duration,
};

use datafusion::{
    common::config::{ConfigNonZeroUsize, ConfigOptions},
    error::DataFusionError,
    execution::{
        SessionStateBuilder,
        disk_manager::{DiskManagerBuilder, DiskManagerMode},
        object_store::{DefaultObjectStoreRegistry, ObjectStoreRegistry, ObjectStoreUrl},
        registry::FunctionRegistry,
        runtime_env::RuntimeEnvBuilder,
    },
    prelude::{SessionConfig, SessionContext},
};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::{Settings, budget::BudgetShare, conditions::EasyFirst, pool::Pool};
use crate::{
    counting,
    error::{AnalysisError, Result},
    guard::{self, BATCH_ROWS},
    sql::functions::{self, Allowance},
};

/// The prefix of the directories of analyses.
const PREFIX: &str = "analysis-";

/// How old a directory has to be to count as abandoned: it is locked only a moment after it was made.
const MIN_AGE: Duration = Duration::from_secs(60);

/// Which part of the memory, as a divisor, a sort reserves for merging what it wrote to disk.
const MERGE_SHARE: usize = 64;

pub(super) struct QuerySession {
    context: SessionContext,
    /// The files of operators, removed when the analysis ends in any way.
    _directory: TempDir,
    /// A lock on the directory, which shows other processes that it is in use; the system releases it
    /// even if this process is killed.
    _lock: Option<File>,
}

/// Removes the files of analyses whose process was killed: they may be large.
pub(super) fn remove_abandoned(temporary: &Path) {
    for entry in fs::read_dir(temporary).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let rest = name.to_str().and_then(|name| name.strip_prefix(PREFIX)).unwrap_or_default();
        if rest.len() != 6 || !rest.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            continue;
        }
        let modified = entry.metadata().ok().filter(|found| found.is_dir());
        let age = modified.and_then(|found| found.modified().ok()?.elapsed().ok());
        let is_old = age.is_some_and(|age| age > MIN_AGE);
        if is_old && File::open(entry.path()).is_ok_and(|lock| lock.try_lock().is_ok()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

impl QuerySession {
    pub(super) fn new(
        settings: &Settings,
        share: Arc<BudgetShare>,
        stop: CancellationToken,
    ) -> Result<Self> {
        let mut builder = tempfile::Builder::new();
        // It holds rows of callers, which nobody else on this machine may read.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
        let directory = builder
            .prefix(PREFIX)
            .tempdir_in(&settings.temporary)
            .map_err(|error| AnalysisError::Internal(error.to_string()))?;
        // Where directories cannot be locked, abandoned ones are not removed either.
        let lock = File::open(directory.path()).ok().filter(|lock| lock.try_lock().is_ok());
        let context = context(settings, &directory, share, stop)?;
        Ok(Self { context, _directory: directory, _lock: lock })
    }

    pub(super) fn context(&self) -> &SessionContext {
        &self.context
    }
}

/// Makes a context that can do nothing but query the tables it is given: it has no file formats, no
/// table factories, no access to files, and only the functions that are listed.
fn context(
    settings: &Settings,
    directory: &TempDir,
    share: Arc<BudgetShare>,
    stop: CancellationToken,
) -> Result<SessionContext, DataFusionError> {
    let disk = DiskManagerBuilder::default()
        .with_mode(DiskManagerMode::Directories(vec![directory.path().to_owned()]))
        .with_max_temp_directory_size(settings.disk_bytes);
    let stores = DefaultObjectStoreRegistry::new();
    stores.deregister_store(ObjectStoreUrl::local_filesystem().as_ref())?;
    let runtime = RuntimeEnvBuilder::new()
        .with_memory_pool(Arc::new(Pool::new(settings.memory_bytes, share)))
        .with_disk_manager_builder(disk)
        .with_object_store_registry(Arc::new(stores))
        .build_arc()?;
    let allowance = Arc::new(Allowance::new(settings.memory_bytes, stop.clone()));
    let config = SessionConfig::from(options(settings)?).with_extension(allowance.clone());
    let mut rules = guard::rules(settings.memory_bytes, stop);
    // Last, because the other rules understand a plain AND only.
    rules.push(Arc::new(EasyFirst));
    let mut state = SessionStateBuilder::new()
        .with_config(config)
        .with_runtime_env(runtime)
        .with_expr_planners(functions::planners())
        .with_scalar_functions(functions::scalar(&allowance))
        .with_aggregate_functions(functions::aggregate())
        .with_window_functions(functions::window())
        .with_table_function_list(functions::table())
        .with_query_planner(Arc::new(counting::Planner))
        .with_physical_optimizer_rules(rules)
        .build();
    state.register_function_rewrite(functions::rewrite(&allowance))?;
    Ok(SessionContext::new_with_state(state))
}

fn options(settings: &Settings) -> Result<ConfigOptions, DataFusionError> {
    let mut options = ConfigOptions::new();
    options.catalog.information_schema = false;
    options.sql_parser.enable_ident_normalization = false;
    let execution = &mut options.execution;
    // Without it `timestamptz` and `now()` have no zone, and `AT TIME ZONE` takes them for what a
    // clock in that zone shows.
    execution.time_zone = Some("UTC".to_owned());
    execution.target_partitions = settings.threads.max(1);
    execution.planning_concurrency = 1;
    execution.batch_size = ConfigNonZeroUsize::try_new(BATCH_ROWS)?;
    execution.enable_recursive_ctes = false;
    execution.enforce_batch_size_in_joins = true;
    execution.sort_spill_reservation_bytes = settings.memory_bytes / MERGE_SHARE;
    Ok(options)
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn files_of_analyses_that_were_killed_are_removed_and_others_are_not() {
        let home = tempfile::tempdir().unwrap();
        let old = SystemTime::now() - 2 * MIN_AGE;
        let make = |name: &str, time: SystemTime| {
            let path = home.path().join(name);
            fs::create_dir(&path).unwrap();
            fs::write(path.join("spilled"), "rows").unwrap();
            let directory = File::open(path).unwrap();
            directory.set_modified(time).unwrap();
            directory
        };
        make("analysis-Killed", old);
        let running = make("analysis-Runing", old);
        running.lock().unwrap();
        make("analysis-Begins", SystemTime::now());
        make("analysis-of-sales", old);
        remove_abandoned(home.path());
        let mut names: Vec<_> = fs::read_dir(home.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, ["analysis-Begins", "analysis-Runing", "analysis-of-sales"]);
    }
}
