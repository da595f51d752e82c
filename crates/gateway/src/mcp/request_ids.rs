//! The ids of requests that are not answered yet. The protocol library keeps one request for each id:
//! of two with the same, the second would never be answered.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use narrows_model::clipped_name;
use rmcp::{ErrorData, model::RequestId};

/// The ids that one client uses at the moment.
#[derive(Debug, Default)]
pub(super) struct RequestIds(Mutex<HashSet<RequestId>>);

/// An id that is in use, until dropped.
#[derive(Debug)]
pub(super) struct UsedId {
    ids: Arc<RequestIds>,
    id: RequestId,
}

impl RequestIds {
    fn ids(&self) -> MutexGuard<'_, HashSet<RequestId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Marks the id of a request as used. Fails if another request is using it.
    pub(super) fn begin(self: &Arc<Self>, id: &RequestId) -> Result<UsedId, ErrorData> {
        match self.ids().insert(id.clone()) {
            true => Ok(UsedId { ids: Arc::clone(self), id: id.clone() }),
            false => Err(id_in_use(id)),
        }
    }
}

impl Drop for UsedId {
    fn drop(&mut self) {
        self.ids.ids().remove(&self.id);
    }
}

/// Returns the refusal of a request whose id is in use.
pub(super) fn id_in_use(id: &RequestId) -> ErrorData {
    let id = clipped_name(&id.to_string());
    let message = format!(
        "the id {id} is that of another request, which is not answered yet; give each request an id \
         of its own"
    );
    ErrorData::invalid_request(message, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_used_by_one_request_at_a_time() {
        let ids = Arc::new(RequestIds::default());
        let id = RequestId::Number(7);
        let first = ids.begin(&id).unwrap();
        let refusal = ids.begin(&id).unwrap_err();
        assert_eq!(refusal.code.0, -32600);
        assert!(refusal.message.starts_with("the id 7 is that of another request"));
        drop(ids.begin(&RequestId::Number(8)).unwrap());
        drop(first);
        ids.begin(&id).unwrap();
    }
}
