//! A server's settings, with all variables filled in.

mod environment;

use std::ffi::OsString;

use narrows_model::{
    Connection as ConnectionSpec, HttpSpec, ServerSpec, StdioSpec, Template, secrets_in,
};
use reqwest::{
    Url,
    header::{HeaderMap, HeaderName, HeaderValue},
};

use self::environment::Inherited;
use crate::handshake::OpenError;

/// The specification with all variables filled in. Holds secrets; is never shown.
pub(crate) struct Settings<'a> {
    pub(crate) target: ResolvedTarget<'a>,
    /// The strings that must not be shown: values of variables, of the environment and of headers, and
    /// the path and the query of an address.
    pub(crate) secrets: Vec<String>,
}

pub(crate) enum ResolvedTarget<'a> {
    Stdio {
        program: String,
        args: Vec<String>,
        env: Vec<(String, String)>,
        inherited: Inherited,
        spec: &'a StdioSpec,
    },
    Http {
        url: Url,
        headers: HeaderMap,
        spec: &'a HttpSpec,
    },
}

impl<'a> Settings<'a> {
    pub(crate) fn expand(spec: &'a ServerSpec) -> Result<Self, OpenError> {
        let mut secrets = Vec::new();
        let target = match &spec.connection {
            ConnectionSpec::Stdio(stdio) => {
                let program = expand(&stdio.command, &mut secrets)?;
                let mut args = Vec::new();
                for arg in &stdio.args {
                    args.push(expand(arg, &mut secrets)?);
                }
                let mut env = Vec::new();
                for (name, value) in &stdio.env {
                    env.push((name.clone(), expand(value, &mut secrets)?));
                }
                secrets.extend(env.iter().map(|(_, value)| value.clone()));
                // Some write a whole command line where the program belongs.
                let words = program.split_whitespace().chain(args.iter().map(String::as_str));
                secrets.extend(secrets_in(words));
                let of_its_own = |name: &OsString| {
                    name.to_str().is_some_and(|name| stdio.env.contains_key(name))
                };
                let ours = std::env::vars_os().filter(|(name, _)| !of_its_own(name));
                let inherited = Inherited::new(&stdio.inherit_env, ours);
                secrets.extend_from_slice(&inherited.secrets);
                ResolvedTarget::Stdio { program, args, env, inherited, spec: stdio }
            }
            ConnectionSpec::Http(http) => {
                let url = Url::parse(&expand(&http.url, &mut secrets)?).map_err(|error| {
                    OpenError::Setting(format!("its url is not a valid address: {error}"))
                })?;
                secrets.extend([url.as_str(), url.path()].map(str::to_owned));
                secrets.extend(url.query().map(str::to_owned));
                secrets.extend(secrets_in([url.as_str()]));
                let mut headers = HeaderMap::new();
                for (name, value) in &http.headers {
                    let value = expand(value, &mut secrets)?;
                    secrets.push(value.clone());
                    let header = HeaderName::try_from(name.as_str()).ok();
                    let value = HeaderValue::try_from(value).ok();
                    let (Some(header), Some(mut value)) = (header, value) else {
                        let reason = format!("the header {name:?} is not a valid HTTP header");
                        return Err(OpenError::Setting(reason));
                    };
                    value.set_sensitive(true);
                    headers.insert(header, value);
                }
                ResolvedTarget::Http { url, headers, spec: http }
            }
        };
        Ok(Self { target, secrets })
    }

    /// Adds a hint to the reason why a command ended, if it may lack a variable that we have. The
    /// reason contains what the command printed last.
    pub(crate) fn hinting(&self, server: &str, error: OpenError) -> OpenError {
        let (ResolvedTarget::Stdio { inherited, .. }, OpenError::Ended(reason)) =
            (&self.target, &error)
        else {
            return error;
        };
        match inherited.hint(server, reason) {
            Some(hint) => OpenError::WithheldVariable(format!("{reason}; {hint}")),
            None => error,
        }
    }
}

/// Fills in the variables of a setting, and adds their values to the secrets.
fn expand(template: &Template, secrets: &mut Vec<String>) -> Result<String, OpenError> {
    let values = std::cell::RefCell::new(secrets);
    template
        .expand(|name| {
            let value = std::env::var(name).ok();
            values.borrow_mut().extend(value.clone());
            value
        })
        .map_err(|missing| {
            OpenError::UnsetVariable(format!("{missing}; set it, or change the setting"))
        })
}
