//! Where a store is: a file of SQLite, or a database of a PostgreSQL server.

use std::{fmt, path::PathBuf, str::FromStr};

use sqlx::postgres::PgConnectOptions;

/// The options that may stand after the `?` of a PostgreSQL URL. Others are refused: sqlx would write
/// their values, which may be misspelt passwords, to the log.
const URL_OPTIONS: &[&str] = &[
    "application_name",
    "dbname",
    "host",
    "hostaddr",
    "options",
    "password",
    "port",
    "sslcert",
    "sslkey",
    "sslmode",
    "sslrootcert",
    "statement-cache-capacity",
    "user",
];

/// The place of a store. It is shown without its password.
#[derive(Clone, Debug)]
pub enum StoreUrl {
    /// A file, made if it is missing.
    Sqlite(PathBuf),
    /// A database that is there already; the tables are made in it.
    Postgres(PostgresPlace),
}

/// The address of a PostgreSQL database. There is no way to print the password in it.
#[derive(Clone)]
pub struct PostgresPlace(Box<PgConnectOptions>);

/// The reason why a text is not the place of a store. The text itself is not repeated: it may hold a
/// password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidStoreUrl {
    #[error("the place of the store is empty: give a file, or postgres://user@host/database")]
    Empty,
    #[error("a store in memory would be lost with the process: give a file")]
    Memory,
    #[error("`{0}:` is no database that can be used: give a file, sqlite:FILE or postgres://…")]
    Scheme(String),
    #[error(
        "the PostgreSQL URL cannot be read: write postgres://user:password@host:port/database, with %XX for special characters"
    )]
    Url,
    #[error("the PostgreSQL URL has an option that is not known; known are {}", URL_OPTIONS.join(", "))]
    UrlOption,
}

impl FromStr for StoreUrl {
    type Err = InvalidStoreUrl;

    fn from_str(text: &str) -> Result<Self, InvalidStoreUrl> {
        match text.split_once("://") {
            Some(("postgres" | "postgresql", _)) => return text.parse().map(Self::Postgres),
            Some(("sqlite", path)) => return file(path),
            Some((scheme, _)) if is_scheme(scheme) => {
                return Err(InvalidStoreUrl::Scheme(scheme.to_owned()));
            }
            _ => {}
        }
        file(text.strip_prefix("sqlite:").unwrap_or(text))
    }
}

fn file(path: &str) -> Result<StoreUrl, InvalidStoreUrl> {
    match path {
        "" => Err(InvalidStoreUrl::Empty),
        ":memory:" => Err(InvalidStoreUrl::Memory),
        path => Ok(StoreUrl::Sqlite(PathBuf::from(path))),
    }
}

fn is_scheme(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '+' || c == '-')
}

impl FromStr for PostgresPlace {
    type Err = InvalidStoreUrl;

    fn from_str(url: &str) -> Result<Self, InvalidStoreUrl> {
        let options = url.split_once('?').map_or("", |(_, options)| options);
        let names = options.split('&').filter(|option| !option.is_empty());
        let mut names = names.map(|option| option.split_once('=').map_or(option, |(name, _)| name));
        if !names.all(|name| URL_OPTIONS.contains(&name)) {
            return Err(InvalidStoreUrl::UrlOption);
        }
        PgConnectOptions::from_str(url)
            .map(|options| Self(Box::new(options)))
            .map_err(|_| InvalidStoreUrl::Url)
    }
}

impl PostgresPlace {
    pub(crate) fn options(&self) -> &PgConnectOptions {
        &self.0
    }
}

impl fmt::Display for PostgresPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (user, port) = (self.0.get_username(), self.0.get_port());
        let database = self.0.get_database().unwrap_or(user);
        match self.0.get_socket() {
            Some(socket) => write!(f, "postgres://{user}@{}:{port}/{database}", socket.display()),
            None => write!(f, "postgres://{user}@{}:{port}/{database}", self.0.get_host()),
        }
    }
}

impl fmt::Debug for PostgresPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => write!(f, "{}", path.display()),
            Self::Postgres(place) => write!(f, "{place}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_names_a_file_or_a_server() {
        for path in ["data/narrows.db", "sqlite:data/narrows.db", "sqlite://data/narrows.db"] {
            let place: StoreUrl = path.parse().unwrap();
            assert!(
                matches!(&place, StoreUrl::Sqlite(p) if p.ends_with("data/narrows.db")),
                "{place}"
            );
        }
        for url in ["postgres://ada@db:5433/state", "postgresql://ada@db:5433/state"] {
            let place: StoreUrl = url.parse().unwrap();
            assert_eq!(place.to_string(), "postgres://ada@db:5433/state");
        }
    }

    #[test]
    fn what_names_no_place_is_refused_with_a_reason() {
        let refusal = |text: &str| text.parse::<StoreUrl>().unwrap_err();
        assert_eq!(refusal(""), InvalidStoreUrl::Empty);
        assert_eq!(refusal("sqlite:"), InvalidStoreUrl::Empty);
        assert_eq!(refusal("sqlite::memory:"), InvalidStoreUrl::Memory);
        assert_eq!(refusal("mysql://u:pw@h/d"), InvalidStoreUrl::Scheme("mysql".to_owned()));
        assert_eq!(refusal("postgres://u:pw@h:port/d"), InvalidStoreUrl::Url);
        assert_eq!(refusal("postgres://u@h/d?passwrod=pw"), InvalidStoreUrl::UrlOption);
    }

    #[test]
    fn a_password_is_never_shown() {
        for url in [
            "postgres://ada:hunter2@db/state",
            "postgres://ada@db/state?password=hunter2",
            "postgres://ada:hunter2@db/state?sslmode=require",
        ] {
            let place: StoreUrl = url.parse().unwrap();
            for shown in [format!("{place}"), format!("{place:?}"), format!("{place:#?}")] {
                assert!(shown.contains("ada@db"), "{shown}");
                assert!(!shown.contains("hunter2"), "{shown}");
            }
        }
        for url in ["postgres://ada:hunter2@db:x/state", "postgres://a@db/s?pass=hunter2"] {
            let refusal = url.parse::<StoreUrl>().unwrap_err();
            assert!(!format!("{refusal} {refusal:?}").contains("hunter2"));
        }
    }
}
