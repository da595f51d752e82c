//! What an analysis may use, however it is asked for it. These tests look at the memory and the
//! processor time of their process, so they are a program of their own and run one by one.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod hostile;
mod resources;
mod support;
