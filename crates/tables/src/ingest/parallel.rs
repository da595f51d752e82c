//! Runs work on several threads.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use crate::flaw::Result;

/// The most threads. More would only wait for each other to take items.
const MAX_THREADS: usize = 64;

/// Works on all items with several threads. The results are in the order of the items; of several
/// errors, the one of the first item is returned.
pub(super) fn each<I, T: Send>(
    items: impl Iterator<Item = Result<I>> + Send,
    threads: usize,
    work: impl Fn(I) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let items = Mutex::new(items.enumerate());
    let failed = AtomicBool::new(false);
    let run = || {
        let mut done = Vec::new();
        while !failed.load(Ordering::Relaxed) {
            let next = items.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some((index, item)) = next else { break };
            let result = item.and_then(&work);
            failed.fetch_or(result.is_err(), Ordering::Relaxed);
            done.push((index, result));
        }
        done
    };
    let mut done = thread::scope(|scope| {
        let others: Vec<_> = (1..threads.min(MAX_THREADS)).map(|_| scope.spawn(run)).collect();
        let mut done = run();
        for other in others {
            match other.join() {
                Ok(part) => done.extend(part),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        done
    });
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flaw::Flaw;

    #[test]
    fn results_are_in_the_order_of_the_items() {
        let doubled = each((0..1000).map(Ok), 4, |item| Ok(item * 2)).expect("results");
        assert_eq!(doubled, (0..1000).map(|item| item * 2).collect::<Vec<_>>());
        assert!(each((0..0).map(Ok), 4, Ok).expect("nothing").is_empty());
    }

    #[test]
    fn what_is_wrong_is_told() {
        let odd = |item: usize| match item % 2 {
            0 => Ok(item),
            _ => Err(Flaw::data(format!("item {item}"))),
        };
        let flaw = each((0..2).map(Ok), 1, odd).expect_err("an odd item");
        assert!(matches!(&flaw, Flaw::Data(reason) if reason == "item 1"), "{flaw:?}");
        let items = [Ok(0), Err(Flaw::data("no item")), Ok(2)];
        let flaw = each(items.into_iter(), 2, odd).expect_err("no item");
        assert!(matches!(&flaw, Flaw::Data(reason) if reason == "no item"), "{flaw:?}");
    }
}
