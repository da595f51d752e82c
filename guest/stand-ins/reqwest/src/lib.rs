//! Nothing. The build script of `componentize-py` as it is published does not use `reqwest`, which it
//! still names: an HTTP client with TLS would be compiled for that.
